#include "kernels/split_product.hpp"

#include <algorithm>
#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/split_product.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu_target.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/split_rows_inl.hpp"
#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX3

// A panel has as many columns of y as two tiles.
constexpr std::size_t panel = split_panel_columns;
static_assert(panel == 2 * tile_side);
static_assert(product_group % panel == 0 && split_row_block % panel == 0);

// Depths in steps of 32 terms. Two tiles of rows of x, near_steps deep, stay in the first-level
// cache over the panels of a group; the split panels of a group, far_steps deep, in the
// second-level cache over the rows of a block.
constexpr std::size_t near_steps = 4, far_steps = 24;

// Absolute values as whole numbers of the same order; infinities and NaN are the largest.
using Sizes = hn::Vec<Words>;
HWY_INLINE Sizes sizes_of(hn::Vec<Floats> numbers) {
  const Words words;
  return hn::And(hn::BitCast(words, numbers), hn::Set(words, 0x7FFFFFFFU));
}

constexpr std::uint32_t bits_of_power(int exponent) {
  return static_cast<std::uint32_t>(exponent + 127) << 23U;
}

// Whether three parts hold the numbers of a row with that largest size.
bool holds(std::uint32_t largest) {
  return largest == 0 || (largest >= bits_of_power(-40) && largest <= bits_of_power(60));
}

HWY_INLINE std::uint32_t largest_of(Sizes sizes) {
  const Words words;
  return hn::GetLane(hn::MaxOfLanes(words, sizes));
}

// Stores one row of pairs of numbers that are bfloat16.
HWY_INLINE void store_bfloat16(hn::Vec<Floats> first, hn::Vec<Floats> second, std::uint16_t* to) {
  const Words words;
  hn::StoreU(hn::Or(hn::ShiftRight<16>(hn::BitCast(words, first)), hn::BitCast(words, second)),
             words, reinterpret_cast<std::uint32_t*>(to));
}

bool split_x(const SplitSource& rows, std::uint16_t* to) {
  const std::size_t steps = tile_steps(rows.width);
  bool fits = true;
  for (std::size_t i = 0; i < rounded_up(rows.count, panel); ++i) {
    const float* row = i < rows.count ? rows.first + i * rows.stride : nullptr;
    std::uint16_t* tile =
        to + i / tile_side * steps * split_tile_numbers + i % tile_side * tile_depth;
    Sizes largest = hn::Zero(Words());
    for (std::size_t k = 0; k < rows.width; k += tile_depth, tile += split_tile_numbers) {
      const auto a = part_of_row(row, rows.width, k);
      const auto b = part_of_row(row, rows.width, k + tile_side);
      largest = hn::Max(largest, hn::Max(sizes_of(a), sizes_of(b)));
      store_parts<3>(a, b, tile);
    }
    fits = fits && holds(largest_of(largest));
  }
  return fits;
}

// Columns of the right operand from rows: 16 rows become 16 columns of each tile.
bool split_rows_of_w(const SplitSource& rows, std::uint16_t* to) {
  alignas(64) std::array<std::uint16_t, tile_numbers> turned;
  alignas(64) std::array<std::uint32_t, tile_numbers / 2> largest;
  const Words words;
  bool fits = true;
  for (std::size_t first = 0; first < rounded_up(rows.count, panel); first += tile_side) {
    std::array<const float*, tile_side> present{};
    for (std::size_t j = first; j < std::min(first + tile_side, rows.count); ++j) {
      present[j - first] = rows.first + j * rows.stride;
    }
    largest.fill(0);
    for (std::size_t k = 0; k < rows.width; k += tile_depth, to += tile_numbers) {
      for (std::size_t j = 0; j < tile_side; ++j) {
        // Parts of rows are too short for the processor to foresee the next.
        if (present[j] != nullptr) {
          hwy::Prefetch(present[j] + k + 4 * tile_depth);
          hwy::Prefetch(present[j] + k + 4 * tile_depth + tile_side);
        }
        const auto a = part_of_row(present[j], rows.width, k);
        const auto b = part_of_row(present[j], rows.width, k + tile_side);
        std::uint32_t* own = largest.data() + j * tile_side;
        hn::Store(hn::Max(hn::Load(words, own), hn::Max(sizes_of(a), sizes_of(b))), words, own);
        store_bfloat16(a, b, turned.data() + j * tile_depth);
      }
      const auto* pairs = reinterpret_cast<const std::uint32_t*>(turned.data());
      auto* tile = reinterpret_cast<std::uint32_t*>(to);
      for (std::size_t j = 0; j < tile_side; j += 4) {
        for (std::size_t i = 0; i < tile_side; i += 4) {
          transpose_pairs(pairs + j * tile_side + i, tile + i * tile_side + j);
        }
      }
    }
    for (std::size_t j = 0; j < tile_side; ++j) {
      fits = fits && holds(largest_of(hn::Load(words, largest.data() + j * tile_side)));
    }
  }
  return fits;
}

// split_rows_of_w() for rows that are stored side by side: pairs of lines are rows of the tiles.
bool split_columns_of_w(const SplitSource& rows, std::uint16_t* to) {
  const Words words;
  const std::size_t steps = tile_steps(rows.width), end = rounded_up(rows.count, panel);
  alignas(64) std::array<std::uint32_t, product_group> largest{};
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t k = 0; k < tile_side; ++k) {
      const std::size_t upper = step * tile_depth + k, lower = upper + tile_side;
      const float* a_line = upper < rows.width ? rows.first + upper * rows.stride : nullptr;
      const float* b_line = lower < rows.width ? rows.first + lower * rows.stride : nullptr;
      for (std::size_t column = 0; column < end; column += tile_side) {
        if (b_line != nullptr) hwy::Prefetch(b_line + tile_side * rows.stride + column);
        if (a_line != nullptr) hwy::Prefetch(a_line + tile_depth * rows.stride + column);
        const auto a = part_of_row(a_line, rows.count, column);
        const auto b = part_of_row(b_line, rows.count, column);
        std::uint32_t* own = largest.data() + column;
        hn::Store(hn::Max(hn::Load(words, own), hn::Max(sizes_of(a), sizes_of(b))), words, own);
        store_bfloat16(a, b,
                       to + (column / tile_side * steps + step) * tile_numbers + k * tile_depth);
      }
    }
  }
  return std::all_of(largest.begin(), largest.end(), holds);
}

bool split_w(const SplitSource& rows, std::uint16_t* to) {
  return rows.side_by_side ? split_columns_of_w(rows, to) : split_rows_of_w(rows, to);
}

void multiply(const SplitRowProduct& product) {
  const MatrixTiles tiles;
  const std::size_t steps = tile_steps(product.width);
  const std::size_t x_row = steps * split_tile_numbers;
  const std::size_t w_row = steps * tile_numbers;
  for (std::size_t far = 0; far < steps; far += far_steps) {
    const std::size_t far_end = std::min(far + far_steps, steps);
    for (std::size_t row = 0; row < product.rows; row += panel) {
      const std::uint16_t* x = product.x + row / tile_side * x_row;
      for (std::size_t near = far; near < far_end; near += near_steps) {
        const std::size_t count = std::min(near_steps, far_end - near);
        const std::uint16_t* left = x + near * split_tile_numbers;
        for (std::size_t column = 0; column < product.columns; column += panel) {
          const std::uint16_t* right = product.w + column / tile_side * w_row + near * tile_numbers;
          multiply_split_by_bfloat16_tiles({left, left + x_row, right, right + w_row, count},
                                           product.scratch + row * product_group + column,
                                           product_group, near > 0);
        }
      }
    }
  }
  const Floats d;
  for (std::size_t row = 0; row < product.rows; ++row) {
    const float* sums = product.scratch + row * product_group;
    float* y = product.y + row * product.y_stride;
    std::size_t column = 0;
    for (; column + tile_side <= product.columns; column += tile_side) {
      auto sum = hn::LoadU(d, sums + column);
      if (product.bias != nullptr) sum = hn::Add(sum, hn::LoadU(d, product.bias + column));
      hn::StoreU(sum, d, y + column);
    }
    for (; column < product.columns; ++column) {
      y[column] = sums[column] + (product.bias == nullptr ? 0.0F : product.bias[column]);
    }
  }
}

#else

// Never called: splits_product() is false where these are chosen.
bool split_x(const SplitSource&, std::uint16_t*) {
  return false;
}
bool split_w(const SplitSource&, std::uint16_t*) {
  return false;
}
void multiply(const SplitRowProduct&) {}

#endif

}  // namespace

bool split_x_of(const SplitSource& rows, std::uint16_t* to) {
  return split_x(rows, to);
}
bool split_w_of(const SplitSource& rows, std::uint16_t* to) {
  return split_w(rows, to);
}
void multiply_split(const SplitRowProduct& product) {
  multiply(product);
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(split_x_of);
ATTN_FOR_TARGETS(split_w_of);
ATTN_FOR_TARGETS(multiply_split);

bool splits_product(std::size_t rows, std::size_t width) noexcept {
  constexpr std::size_t least_rows = 48, least_width = 32;
  return uses_matrix_tiles() && rows >= least_rows && width >= least_width;
}

std::size_t split_x_count(std::size_t rows, std::size_t width) noexcept {
  return 3 * tiled_numbers(rows, width);
}

std::size_t split_w_count(std::size_t columns, std::size_t width) noexcept {
  return tiled_numbers(columns, width);
}

bool split_x_rows(const SplitSource& rows, std::uint16_t* to) noexcept {
  return ATTN_OF_TARGET(split_x_of)(rows, to);
}

bool split_w_rows(const SplitSource& rows, std::uint16_t* to) noexcept {
  return ATTN_OF_TARGET(split_w_of)(rows, to);
}

void multiply_split_rows(const SplitRowProduct& product) noexcept {
  ATTN_OF_TARGET(multiply_split)(product);
}

}  // namespace attn::kernels
#endif
