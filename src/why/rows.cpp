#include "why/rows.hpp"

#include <algorithm>
#include <array>

namespace attn {

Rows rows_at(const Tensor& tensor, std::span<const std::size_t> positions) {
  const std::size_t width = tensor.shape().back();
  const Tensor numbers = tensor.converted(DType::float64);
  Rows rows(positions.size(), width);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    std::copy_n(numbers.values<double>().data() + positions[i] * width, width, rows.row(i));
  }
  return rows;
}

double dot(const double* a, const double* b, std::size_t count) {
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::size_t k = 0; k < lanes; ++k) sums[k] += a[i + k] * b[i + k];
  }
  double sum = 0;
  for (; i < count; ++i) sum += a[i] * b[i];
  for (const double part : sums) sum += part;
  return sum;
}

void add_scaled(double factor, const double* from, std::size_t count, double* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

Rows columns_of(const StoredMatrix& matrix) {
  const Rows rows = rows_of(matrix);
  Rows columns(rows.width, rows.count());
  constexpr std::size_t block = 16;  // rows whose lines of memory are kept while columns are filled
  for (std::size_t first = 0; first < rows.count(); first += block) {
    const std::size_t end = std::min(rows.count(), first + block);
    for (std::size_t k = 0; k < rows.width; ++k) {
      for (std::size_t i = first; i < end; ++i) columns.row(k)[i] = rows.row(i)[k];
    }
  }
  return columns;
}

Rows rows_of(const StoredMatrix& matrix) {
  const Tensor numbers = matrix.tensor();
  Rows rows;
  rows.width = numbers.shape()[1];
  rows.numbers.assign(numbers.values<double>().begin(), numbers.values<double>().end());
  return rows;
}

void add_combination(const Rows& rows, std::size_t first, std::span<const double> factors,
                     double* to) {
  for (std::size_t n = 0; n < factors.size(); ++n) {
    if (factors[n] != 0) add_scaled(factors[n], rows.row(first + n), rows.width, to);
  }
}

}  // namespace attn
