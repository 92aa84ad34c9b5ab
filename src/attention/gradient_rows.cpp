#include "attention/gradient_rows.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace attn {

void add_product(const double* a, std::size_t row_step, std::size_t depth_step, const double* b,
                 std::size_t rows, std::size_t depth, std::size_t columns, double* c,
                 bool zeros_hide) {
  for (std::size_t i = 0; i < rows; ++i) {
    double* const to = c + i * columns;
    const double* const factors = a + i * row_step;
    std::size_t k = 0;
    for (; !zeros_hide && k + 4 <= depth; k += 4) {
      const double f0 = factors[k * depth_step], f1 = factors[(k + 1) * depth_step],
                   f2 = factors[(k + 2) * depth_step], f3 = factors[(k + 3) * depth_step];
      const double *b0 = b + k * columns, *b1 = b0 + columns, *b2 = b1 + columns,
                   *b3 = b2 + columns;
      for (std::size_t j = 0; j < columns; ++j) {
        to[j] += (f0 * b0[j] + f1 * b1[j]) + (f2 * b2[j] + f3 * b3[j]);
      }
    }
    for (; k < depth; ++k) {
      const double factor = factors[k * depth_step];
      if (factor == 0 && zeros_hide) continue;
      const double* const row = b + k * columns;
      for (std::size_t j = 0; j < columns; ++j) to[j] += factor * row[j];
    }
  }
}

Numbers transposed(const double* matrix, std::size_t rows, std::size_t columns) {
  Numbers result(rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) result[j * rows + i] = matrix[i * columns + j];
  }
  return result;
}

bool all_finite(std::span<const double> numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

Tensor folded(const Heads& rows, std::size_t first, const Tensor& like) {
  const Shape& shape = like.shape();
  const std::size_t rank = shape.size(), length = shape[rank - 2];
  const std::size_t row_step = rank == 4 ? rows.width : rows.heads * rows.width;
  const std::size_t head_step = rank == 4 ? length * rows.width : rows.width;
  const std::size_t of_sample = rows.heads * length * rows.width;
  const bool summed = like.size() == of_sample;
  Numbers sums(like.size());
  for (std::size_t b = 0; b < rows.samples; ++b) {
    for (std::size_t h = 0; h < rows.heads; ++h) {
      const double* from = rows.of(b, h) + first * rows.width;
      double* const to = sums.data() + (summed ? 0 : b) * of_sample + h * head_step;
      for (std::size_t i = 0; i < length; ++i) {
        for (std::size_t c = 0; c < rows.width; ++c) to[i * row_step + c] += *from++;
      }
    }
  }
  return {shape, std::move(sums)};
}

Heads through(const Heads& x, const Tensor& weight) {
  const std::size_t outputs = weight.shape()[0];
  Heads y(x.samples, x.heads, x.length, outputs);
  const Tensor doubles = weight.converted(DType::float64);
  const Numbers columns = transposed(doubles.values<double>().data(), outputs, x.width);
  add_product(x.numbers.data(), x.width, 1, columns.data(), x.rows(), x.width, outputs,
              y.numbers.data());
  return y;
}

Back back_through(std::span<const double> x, const Tensor& weight,
                  std::span<const double> y_gradient) {
  const std::size_t outputs = weight.shape()[0], width = weight.shape()[1];
  const std::size_t rows = x.size() / width;
  const Tensor doubles = weight.converted(DType::float64);
  Numbers dx(x.size()), dw(weight.size());
  add_product(y_gradient.data(), outputs, 1, doubles.values<double>().data(), rows, outputs, width,
              dx.data());
  add_product(y_gradient.data(), 1, outputs, x.data(), outputs, rows, width, dw.data());
  return {std::move(dx), Tensor(weight.shape(), std::move(dw))};
}

}  // namespace attn
