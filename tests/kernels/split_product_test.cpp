#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/cpu_target.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/matrix_tile.hpp"
#include "support/memory.hpp"

namespace kernels = attn::kernels;
using kernels::WeightParts;

namespace {

template <class T>
using Block = std::vector<T, attn::BlockAllocator<T>>;

struct SplitSizes {
  std::size_t rows, width, columns;
  WeightParts parts;
  bool side_by_side = false;
};

struct SplitOperands {
  std::vector<float> x, w, bias;  // w as it is stored: [columns, width], or side by side
};

SplitOperands random_split_operands(const SplitSizes& sizes) {
  std::mt19937 random(5);
  std::normal_distribution<float> distribution;
  const auto numbers = [&](std::size_t count) {
    std::vector<float> all(count);
    for (float& one : all) one = distribution(random);
    return all;
  };
  SplitOperands operands{numbers(sizes.rows * sizes.width), numbers(sizes.columns * sizes.width),
                         numbers(sizes.columns)};
  for (float& number : operands.w) {
    if (sizes.parts == WeightParts::three) break;
    number = std::bit_cast<float>(std::bit_cast<std::uint32_t>(number) >> 16 << 16);
  }
  return operands;
}

// The product in a matrix with `gap` columns more, which must stay as they are.
std::vector<float> split_product(const SplitSizes& sizes, const SplitOperands& operands,
                                 bool with_bias, std::size_t gap = 0) {
  Block<std::uint16_t> x(kernels::split_x_count(sizes.rows, sizes.width));
  Block<std::uint16_t> w(kernels::split_w_count(sizes.columns, sizes.width, sizes.parts));
  REQUIRE(
      kernels::split_x_rows({operands.x.data(), sizes.width, sizes.rows, sizes.width}, x.data()));
  REQUIRE(
      kernels::split_w_rows({operands.w.data(), sizes.side_by_side ? sizes.columns : sizes.width,
                             sizes.columns, sizes.width, sizes.side_by_side},
                            sizes.parts, w.data()));
  Block<float> scratch(kernels::split_row_block * kernels::product_group);
  const std::size_t stride = sizes.columns + gap;
  std::vector<float> y(sizes.rows * stride, std::numeric_limits<float>::infinity());
  kernels::multiply_split_rows({x.data(), sizes.rows, sizes.width, w.data(), sizes.parts,
                                sizes.columns, with_bias ? operands.bias.data() : nullptr, y.data(),
                                stride, scratch.data()});
  return y;
}

// The largest error of a sum as a part of what is allowed: 2⁻²¹ of what the sizes of its terms come
// to, which the products that are left out stay below, with the roundings of the products of each
// 32 terms, at most as much for these widths.
double largest_split_error(const SplitSizes& sizes, bool with_bias) {
  const SplitOperands operands = random_split_operands(sizes);
  const std::vector<float> y = split_product(sizes, operands, with_bias);
  double largest = 0;
  for (std::size_t i = 0; i < sizes.rows; ++i) {
    for (std::size_t j = 0; j < sizes.columns; ++j) {
      double sum = with_bias ? operands.bias[j] : 0, size = std::abs(sum);
      for (std::size_t k = 0; k < sizes.width; ++k) {
        const float w = sizes.side_by_side ? operands.w[k * sizes.columns + j]
                                           : operands.w[j * sizes.width + k];
        const double term = static_cast<double>(operands.x[i * sizes.width + k]) * w;
        sum += term;
        size += std::abs(term);
      }
      const double error = std::abs(y[i * sizes.columns + j] - sum) / (size * 0x1p-21);
      largest = std::isnan(error) ? HUGE_VAL : std::max(largest, error);
    }
  }
  return largest;
}

bool tiles_in_use() {
  if (kernels::uses_matrix_tiles()) return true;
  MESSAGE("this machine has no matrix tiles: nothing is checked");
  return false;
}

bool splits_rows(std::vector<float> row) {
  Block<std::uint16_t> to(kernels::split_x_count(1, row.size()));
  return kernels::split_x_rows({row.data(), row.size(), 1, row.size()}, to.data());
}

bool splits_columns(const std::vector<float>& numbers, bool side_by_side) {
  constexpr std::size_t count = 3;
  const std::size_t width = numbers.size() / count;
  const auto splits = [&](WeightParts parts) {
    Block<std::uint16_t> to(kernels::split_w_count(count, width, parts));
    return kernels::split_w_rows(
        {numbers.data(), side_by_side ? count : width, count, width, side_by_side}, parts,
        to.data());
  };
  const bool as_floats = splits(WeightParts::three);
  CHECK(splits(WeightParts::one) == as_floats);
  return as_floats;
}

}  // namespace

TEST_CASE("a product on matrix tiles is that of the definition for every remainder of the tiles") {
  if (!tiles_in_use()) return;
  const auto check = [](WeightParts parts, bool side_by_side) {
    CAPTURE(static_cast<int>(parts));
    CAPTURE(side_by_side);
    for (std::size_t rows = 1; rows <= 34; ++rows) {
      CHECK(largest_split_error({rows, 40, 33, parts, side_by_side}, true) <= 1);
    }
    for (std::size_t columns = 1; columns <= 66; ++columns) {
      CHECK(largest_split_error({33, 33, columns, parts, side_by_side}, columns % 2 == 0) <= 1);
    }
    for (std::size_t width = 1; width <= 66; ++width) {
      CHECK(largest_split_error({17, width, 18, parts, side_by_side}, true) <= 1);
    }
    for (const std::size_t width : {127, 128, 129, 767, 768, 769, 1024, 1025, 1600}) {
      CHECK(largest_split_error({40, width, 50, parts, side_by_side}, true) <= 1);
    }
    for (const std::size_t columns : {191, 192}) {
      CHECK(largest_split_error({256, 100, columns, parts, side_by_side}, false) <= 1);
    }
  };
  for (const bool side_by_side : {false, true}) {
    check(WeightParts::one, side_by_side);
    check(WeightParts::three, side_by_side);
  }
}

TEST_CASE(
    "a part of a product on matrix tiles has the bits of the whole, and its neighbours stay") {
  if (!tiles_in_use()) return;
  // One sum of one part, and one whose parts wait in the scratch.
  for (const std::size_t width : {810, 1100}) {
    for (const WeightParts parts : {WeightParts::one, WeightParts::three}) {
      const SplitSizes sizes{100, width, 150, parts};
      const SplitOperands operands = random_split_operands(sizes);
      const std::vector<float> whole = split_product(sizes, operands, true);
      for (std::size_t rows = 1; rows < sizes.rows; rows += 13) {
        const std::vector<float> part =
            split_product({rows, sizes.width, sizes.columns, parts}, operands, true);
        CHECK(std::equal(part.begin(), part.end(), whole.begin()));
      }
      const std::size_t gap = 3, stride = sizes.columns + gap;
      const std::vector<float> apart = split_product(sizes, operands, true, gap);
      for (std::size_t i = 0; i < sizes.rows; ++i) {
        const float* row = apart.data() + i * stride;
        CHECK(std::equal(row, row + sizes.columns, whole.data() + i * sizes.columns));
        CHECK(
            std::all_of(row + sizes.columns, row + stride, [](float y) { return std::isinf(y); }));
      }
    }
  }
}

TEST_CASE("rows whose numbers would lose parts on matrix tiles are reported") {
  if (!tiles_in_use()) return;
  CHECK(splits_rows({1, 0, -2}));
  CHECK(splits_rows({0, 0, 0}));
  CHECK(splits_rows({0x1p-40F, 0}));
  CHECK(splits_rows({1, 1e-30F}));
  for (const float odd : {HUGE_VALF, -HUGE_VALF, NAN, 0x1.1p60F, 0x1.fp-41F}) {
    CAPTURE(odd);
    CHECK_FALSE(splits_rows({0, odd}));
    for (std::size_t at = 0; at < 6; ++at) {
      std::vector<float> numbers(6, 0.0F);
      numbers[at] = odd;
      CHECK_FALSE(splits_columns(numbers, false));
      CHECK_FALSE(splits_columns(numbers, true));
    }
  }
}
