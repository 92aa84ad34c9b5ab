// Tiles of rows of floats (matrix_tile.hpp): one part for numbers that are bfloat16, else three.
// Terms k and k + 16 of each 32 form a pair, in both operands; this changes only the order of a
// sum. Compiled for AVX-512 alone, which all processors with matrix tiles have.

#if defined(ATTN_KERNELS_SPLIT_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_SPLIT_ROWS_INL
#undef ATTN_KERNELS_SPLIT_ROWS_INL
#else
#define ATTN_KERNELS_SPLIT_ROWS_INL
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "kernels/attention_kernels.hpp"
#include "kernels/attention_rows_inl.hpp"
#include "kernels/matrix_tile.hpp"

#if HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

using Floats = hn::ScalableTag<float>;
using Words = hn::ScalableTag<std::uint32_t>;
static_assert(lanes_of<float> == tile_side);

// Stores one row of each part of a tile: lane i of both vectors is the i-th pair. Parts are
// truncated, not rounded, so that the rest of a number is exact.
template <std::size_t parts>
HWY_INLINE void store_parts(hn::Vec<Floats> first, hn::Vec<Floats> second, std::uint16_t* to) {
  const Floats d;
  const Words words;
  const auto upper = hn::Set(words, 0xFFFF0000U);
#pragma GCC unroll 3
  for (std::size_t part = 0; part < parts; ++part) {
    const auto low = hn::BitCast(words, first);
    const auto high = hn::And(hn::BitCast(words, second), upper);
    hn::StoreU(hn::Or(hn::ShiftRight<16>(low), high), words,
               reinterpret_cast<std::uint32_t*>(to + part * tile_numbers));
    if (part + 1 == parts) break;
    first = hn::Sub(first, hn::BitCast(d, hn::And(low, upper)));
    second = hn::Sub(second, hn::BitCast(d, high));
  }
}

// Numbers k…k + 15 of a row; zeros beyond its end or if it is null.
HWY_INLINE hn::Vec<Floats> part_of_row(const float* row, std::size_t width, std::size_t k) {
  const Floats d;
  if (row == nullptr || k >= width) return hn::Zero(d);
  if (k + tile_side <= width) return hn::LoadU(d, row + k);
  return hn::MaskedLoad(hn::FirstN(d, width - k), d, row + k);
}

// Memory of a packed head as parts of floats.
HWY_INLINE std::uint16_t* parts_in(void* memory) {
  return static_cast<std::uint16_t*>(memory);
}

// The largest number to split. Parts below 2⁻¹²⁶ count as zeros, which is below 2⁻⁶⁶ of any product
// of numbers up to this one.
constexpr float largest_split = 0x1p60F;

// Splits rows times the factor as left operand: [rows / 16][steps] tiles, with rows of zeros up to
// a multiple of 32.
template <std::size_t parts>
void split_rows(const float* const* rows, std::size_t count, std::size_t width, float factor,
                std::uint16_t* to) {
  const Floats d;
  const auto scale = hn::Set(d, factor);
  const std::size_t steps = tile_steps(width);
  for (std::size_t i = 0; i < rounded_up(count, 2 * tile_side); ++i) {
    const float* row = i < count ? rows[i] : nullptr;
    std::uint16_t* tile =
        to + i / tile_side * steps * parts * tile_numbers + i % tile_side * tile_depth;
    for (std::size_t step = 0; step < steps; ++step, tile += parts * tile_numbers) {
      store_parts<parts>(hn::Mul(scale, part_of_row(row, width, step * tile_depth)),
                         hn::Mul(scale, part_of_row(row, width, step * tile_depth + tile_side)),
                         tile);
    }
  }
}

// Four pairs of each of the rows 0, 4, 8 and 12 from `from` on, one after the other.
HWY_INLINE hn::Vec<Words> pairs_of_four_rows(const std::uint32_t* from) {
  const hn::FixedTag<std::uint32_t, 4> quarter;
  const hn::FixedTag<std::uint32_t, 8> half;
  const auto two = [&](const std::uint32_t* rows) HWY_ATTR {
    return hn::Combine(half, hn::LoadU(quarter, rows + 4 * tile_side), hn::LoadU(quarter, rows));
  };
  return hn::Combine(Words(), two(from + 8 * tile_side), two(from));
}

// Transposes the pairs of a tile, 16 rows of 16.
HWY_INLINE void transpose_tile(const std::uint16_t* tile, std::uint16_t* to) {
  const Words d;
  const auto* pairs = reinterpret_cast<const std::uint32_t*>(tile);
  auto* turned = reinterpret_cast<std::uint32_t*>(to);
  for (std::size_t k = 0; k < tile_side; k += 4, turned += 4 * tile_side) {
    const auto x0 = pairs_of_four_rows(pairs + k), x1 = pairs_of_four_rows(pairs + tile_side + k);
    const auto x2 = pairs_of_four_rows(pairs + 2 * tile_side + k);
    const auto x3 = pairs_of_four_rows(pairs + 3 * tile_side + k);
    store_transposed(d, x0, x1, x2, x3, turned, tile_side);
  }
}

// Splits keys as columns of the right operand: [keys / 16][steps] tiles, with columns of zeros up
// to a multiple of 32. Keys that are too long for three parts become zeros and are listed as unfit.
template <std::size_t parts>
void split_keys(const HeadSizes& sizes, const float* const* rows, std::uint16_t* to,
                PackedHead<float>& head) {
  alignas(64) std::array<std::uint16_t, parts * tile_numbers> turned;
  const std::size_t steps = tile_steps(sizes.width);
  head.unfit_count = 0;
  head.longest_key = 0;
  for (std::size_t first = 0; first < rounded_up(sizes.keys, 2 * tile_side); first += tile_side) {
    std::array<const float*, tile_side> present{};
    for (std::size_t key = first; key < std::min(first + tile_side, sizes.keys); ++key) {
      const float length = length_of_squares(squares_of(rows[key], sizes.width), sizes.width);
      if (parts == 1 || length <= largest_split) {
        present[key - first] = rows[key];
        head.longest_key = std::max(head.longest_key, length);
      } else {
        head.unfit_keys[head.unfit_count++] = static_cast<std::uint32_t>(key);
      }
    }
    for (std::size_t step = 0; step < steps; ++step, to += parts * tile_numbers) {
      for (std::size_t j = 0; j < tile_side; ++j) {
        store_parts<parts>(part_of_row(present[j], sizes.width, step * tile_depth),
                           part_of_row(present[j], sizes.width, step * tile_depth + tile_side),
                           turned.data() + j * tile_depth);
      }
      for (std::size_t part = 0; part < parts; ++part) {
        transpose_tile(turned.data() + part * tile_numbers, to + part * tile_numbers);
      }
    }
  }
}

// Splits values as right operand: [value_width / 16][steps of keys] tiles, with zeros up to a
// multiple of 32 columns and keys. Rows that are not finite become zeros and are listed.
template <std::size_t parts>
void split_values(const HeadSizes& sizes, const float* const* rows, std::uint16_t* to,
                  PackedHead<float>& head) {
  const std::size_t steps = tile_steps(sizes.keys);
  const std::size_t columns = rounded_up(sizes.value_width, 2 * tile_side);
  head.non_finite_count = 0;
  head.largest_value = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    std::array<const float*, tile_depth> present{};
    const std::size_t first = step * tile_depth, count = std::min(tile_depth, sizes.keys - first);
    const Extent<float> all = extent_of(rows + first, count, sizes.value_width);
    for (std::size_t j = 0; j < count; ++j) {
      const std::size_t key = first + j;
      const auto [largest, finite] = all.finite ? all : extent_of(rows[key], sizes.value_width);
      head.largest_value = std::max(head.largest_value, largest);
      if (finite) {
        present[j] = rows[key];
      } else {
        head.non_finite_keys[head.non_finite_count++] = static_cast<std::uint32_t>(key);
      }
    }
    for (std::size_t column = 0; column < columns; column += tile_side) {
      std::uint16_t* tile = to + (column / tile_side * steps + step) * parts * tile_numbers;
      for (std::size_t k = 0; k < tile_side; ++k, tile += tile_depth) {
        store_parts<parts>(part_of_row(present[k], sizes.value_width, column),
                           part_of_row(present[k + tile_side], sizes.value_width, column), tile);
      }
    }
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
