#include "kernels/matrix_product.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/every_target.hpp"
#include "support/large_block.hpp"

namespace kernels = attn::kernels;

namespace {

std::vector<float> random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> numbers(count);
  for (float& number : numbers) number = distribution(random);
  return numbers;
}

std::vector<const float*> rows_of(const std::vector<float>& matrix, std::size_t width) {
  std::vector<const float*> rows;
  for (std::size_t i = 0; i < matrix.size(); i += width) rows.push_back(matrix.data() + i);
  return rows;
}

struct Sizes {
  std::size_t rows, width, columns;
};

// The largest error, in units of what rounding each product could make.
double largest_error(const Sizes& sizes, bool with_bias) {
  const std::vector<float> x = random_numbers(sizes.rows * sizes.width, 1);
  const std::vector<float> w = random_numbers(sizes.columns * sizes.width, 2);
  const std::vector<float> bias = random_numbers(sizes.columns, 3);
  using Floats = std::vector<float, attn::BlockAllocator<float>>;
  Floats packed(kernels::packed_matrix_floats(sizes.columns, sizes.width));
  Floats scratch(kernels::product_scratch_floats(sizes.width));
  kernels::pack_matrix(rows_of(w, sizes.width).data(), sizes.columns, sizes.width, packed.data());
  std::vector<float> y(sizes.rows * sizes.columns, NAN);
  kernels::multiply_rows(
      {x.data(), sizes.width, sizes.rows, sizes.width, packed.data(), sizes.columns,
       with_bias ? bias.data() : nullptr, y.data(), sizes.columns},
      scratch.data());
  double largest = 0;
  for (std::size_t i = 0; i < sizes.rows; ++i) {
    for (std::size_t j = 0; j < sizes.columns; ++j) {
      double sum = with_bias ? bias[j] : 0, size = std::abs(sum);
      for (std::size_t k = 0; k < sizes.width; ++k) {
        const double product = static_cast<double>(x[i * sizes.width + k]) * w[j * sizes.width + k];
        sum += product;
        size += std::abs(product);
      }
      const double error = std::abs(y[i * sizes.columns + j] - sum) / (size * 0x1p-24);
      largest = std::isnan(error) ? HUGE_VAL : std::max(largest, error);
    }
  }
  return largest;
}

}  // namespace

TEST_CASE("a product of rows is that of the definition for every remainder of the blocks") {
  attn::testing::on_every_target([] {
    for (std::size_t rows = 1; rows <= 26; ++rows) CHECK(largest_error({rows, 5, 7}, true) < 5);
    for (std::size_t columns = 1; columns <= 70; ++columns) {
      CHECK(largest_error({3, 4, columns}, false) < 4);
    }
    for (std::size_t width = 1; width <= 9; ++width)
      CHECK(largest_error({13, width, 33}, true) < 9);
    CHECK(largest_error({96, 300, 40}, true) < 64);
    CHECK(largest_error({96, 256, 400}, false) < 64);
  });
}
