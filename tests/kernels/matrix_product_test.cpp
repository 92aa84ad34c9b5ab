#include "kernels/matrix_product.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/cpu_target.hpp"
#include "kernels/every_target.hpp"
#include "support/memory.hpp"

namespace kernels = attn::kernels;

namespace {

template <class T>
std::vector<T> random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<T> distribution;
  std::vector<T> numbers(count);
  for (T& number : numbers) number = distribution(random);
  return numbers;
}

struct Sizes {
  std::size_t rows, width, columns;
};

template <class T>
std::size_t panel_columns() {
  return sizeof(T) == sizeof(float) ? kernels::product_panel_floats()
                                    : kernels::product_panel_doubles();
}

template <class T>
using Numbers = std::vector<T, attn::BlockAllocator<T>>;

template <class T>
Numbers<T> packed(const std::vector<T>& w, const Sizes& sizes) {
  const std::size_t panel = panel_columns<T>(), width = sizes.width;
  Numbers<T> panels((sizes.columns + panel - 1) / panel * panel * width);
  for (std::size_t first = 0; first < sizes.columns; first += panel) {
    kernels::pack_panel(kernels::PanelRows<T>{w.data() + first * width, width,
                                              std::min(panel, sizes.columns - first), width},
                        panels.data() + first * width);
  }
  return panels;
}

// The product in a matrix with `gap` columns more, which must stay as they are.
template <class T>
std::vector<T> product(const Sizes& sizes, bool with_bias, std::size_t gap = 0) {
  const auto x = random_numbers<T>(sizes.rows * sizes.width, 1);
  const auto w = random_numbers<T>(sizes.columns * sizes.width, 2);
  const auto bias = random_numbers<T>(sizes.columns, 3);
  const Numbers<T> panels = packed(w, sizes);
  const std::size_t stride = sizes.columns + gap;
  std::vector<T> y(sizes.rows * stride, std::numeric_limits<T>::infinity());
  kernels::multiply_rows(
      kernels::RowProduct<T>{x.data(), sizes.width, sizes.rows, sizes.width, panels.data(),
                             sizes.columns, with_bias ? bias.data() : nullptr, y.data(), stride});
  return y;
}

// Each multiply-add and each addition rounds once: within a slice of the width as often as it has
// products, at most 192, and once more for each slice. So a sum is wrong by at most that many half
// units of what its terms' sizes add up to.
double allowed_roundings(std::size_t width) {
  return static_cast<double>(std::min<std::size_t>(width, 192) + width / 96 + 2);
}

// The largest error of a sum as a part of what is allowed.
template <class T>
double largest_error(const Sizes& sizes, bool with_bias) {
  const auto x = random_numbers<T>(sizes.rows * sizes.width, 1);
  const auto w = random_numbers<T>(sizes.columns * sizes.width, 2);
  const auto bias = random_numbers<T>(sizes.columns, 3);
  const std::vector<T> y = product<T>(sizes, with_bias);
  constexpr long double half_unit = std::numeric_limits<T>::epsilon() / 2;
  double largest = 0;
  for (std::size_t i = 0; i < sizes.rows; ++i) {
    for (std::size_t j = 0; j < sizes.columns; ++j) {
      long double sum = with_bias ? bias[j] : 0, size = std::abs(sum);
      for (std::size_t k = 0; k < sizes.width; ++k) {
        const auto term = static_cast<long double>(x[i * sizes.width + k]) * w[j * sizes.width + k];
        sum += term;
        size += std::abs(term);
      }
      const auto error =
          static_cast<double>(std::abs(y[i * sizes.columns + j] - sum) / (size * half_unit));
      largest = std::isnan(error) ? HUGE_VAL : std::max(largest, error);
    }
  }
  return largest / allowed_roundings(sizes.width);
}

template <class T>
void check_remainders() {
  for (std::size_t rows = 1; rows <= 26; ++rows) CHECK(largest_error<T>({rows, 5, 7}, true) <= 1);
  for (std::size_t columns = 1; columns <= 100; ++columns) {
    CHECK(largest_error<T>({3, 4, columns}, columns % 2 == 0) <= 1);
  }
  for (std::size_t width = 1; width <= 9; ++width) {
    CHECK(largest_error<T>({13, width, 33}, true) <= 1);
  }
  for (const std::size_t width : {383, 384, 385, 767, 768, 769, 1600}) {
    CHECK(largest_error<T>({9, width, 50}, true) <= 1);
    CHECK(largest_error<T>({9, width, 48}, false) <= 1);
  }
  CHECK(largest_error<T>({100, 200, 96}, true) <= 1);
  for (const std::size_t columns : {191, 192, 193, 400}) {
    CHECK(largest_error<T>({17, 40, columns}, true) <= 1);
  }
}

template <class T>
void check_parts() {
  const Sizes sizes{29, 810, 231};
  const std::vector<T> whole = product<T>(sizes, true);
  // Fewer rows, with other columns next to them.
  for (std::size_t rows = 1; rows < sizes.rows; rows += 5) {
    const std::vector<T> part = product<T>({rows, sizes.width, sizes.columns}, true);
    CHECK(std::equal(part.begin(), part.end(), whole.begin()));
  }
  const std::size_t gap = 3, stride = sizes.columns + gap;
  const std::vector<T> apart = product<T>(sizes, true, gap);
  for (std::size_t i = 0; i < sizes.rows; ++i) {
    const T* row = apart.data() + i * stride;
    CHECK(std::equal(row, row + sizes.columns, whole.data() + i * sizes.columns));
    CHECK(std::all_of(row + sizes.columns, row + stride, [](T y) { return std::isinf(y); }));
  }
}

// The packed panels of W stored as lines [width,columns] with a gap after each.
template <class T>
void check_lines() {
  constexpr std::size_t width = 11, gap = 3;
  for (std::size_t columns = 1; columns <= 100; ++columns) {
    const auto w = random_numbers<T>(columns * width, 2);
    std::vector<T> lines(width * (columns + gap), std::numeric_limits<T>::infinity());
    for (std::size_t i = 0; i < w.size(); ++i) {
      lines[i % width * (columns + gap) + i / width] = w[i];
    }
    const Numbers<T> rows = packed(w, {0, width, columns});
    Numbers<T> panels(rows.size());
    kernels::pack_lines(kernels::PanelRows<T>{lines.data(), columns + gap, columns, width},
                        panels.data());
    CHECK(panels == rows);
  }
}

}  // namespace

TEST_CASE("rows of a matrix are packed alike one after the other and side by side") {
  attn::testing::on_every_target([] {
    check_lines<float>();
    check_lines<double>();
  });
}

TEST_CASE("a product of rows is that of the definition for every remainder of the blocks") {
  attn::testing::on_every_target([] {
    check_remainders<float>();
    check_remainders<double>();
  });
}

TEST_CASE("a product has the same bits whatever the size of the second-level cache is") {
  attn::testing::on_every_target([] {
    const Sizes sizes{13, 810, 231};
    const std::vector<float> floats = product<float>(sizes, true);
    const std::vector<double> doubles = product<double>(sizes, true);
    for (const std::size_t kilobytes : {1, 256, 512, 1024, 4096}) {
      CAPTURE(kilobytes);
      kernels::use_second_level_cache(kilobytes << 10U);
      for (const std::size_t width : {1, 100, 810, 4000}) {
        const std::size_t group = kernels::product_group_floats(width);
        CHECK(group % kernels::product_panel_floats() == 0);
        CHECK(group <= kernels::product_group);
        const bool one_panel = group == kernels::product_panel_floats();
        CHECK((one_panel ||
               group * std::min<std::size_t>(width, 768) * sizeof(float) <= kilobytes << 9U));
      }
      CHECK(product<float>(sizes, true) == floats);
      CHECK(product<double>(sizes, true) == doubles);
    }
    kernels::use_second_level_cache(0);
  });
}

TEST_CASE("a part of a product has the bits of the whole, and its neighbours stay") {
  attn::testing::on_every_target([] {
    check_parts<float>();
    check_parts<double>();
  });
}
