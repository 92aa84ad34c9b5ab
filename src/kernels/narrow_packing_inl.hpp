// How heads up to narrow_width wide are packed. Compiled once for each CPU target.

#if defined(ATTN_KERNELS_NARROW_PACKING_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_NARROW_PACKING_INL
#undef ATTN_KERNELS_NARROW_PACKING_INL
#else
#define ATTN_KERNELS_NARROW_PACKING_INL
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "kernels/number_sizes_inl.hpp"
#include "kernels/packed_head.hpp"
#include "kernels/tile_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace narrow {

constexpr std::size_t line = 64;

template <class T>
constexpr std::size_t in_lines(std::size_t count) {
  return rounded_up(count, line / sizeof(T));
}

// The rows of the tile that adds values: those that leave the fewest of them empty.
inline std::size_t value_rows_of(std::size_t width) {
  std::size_t best = 4;
  for (std::size_t rows : tile_rows == 12 ? std::array<std::size_t, 3>{4, 8, 12}
                                          : std::array<std::size_t, 3>{4, 6, 6}) {
    if (rounded_up(width, rows) <= rounded_up(width, best)) best = rows;
  }
  return best;
}

template <class T>
std::size_t key_count(const HeadSizes& sizes) {
  return in_lines<T>(rounded_up(sizes.keys, tile_rows) * sizes.width);
}

template <class T>
std::size_t value_count(const HeadSizes& sizes) {
  return in_lines<T>(sizes.keys * rounded_up(sizes.value_width, value_rows_of(sizes.value_width)));
}

template <class T>
Extent<T> copy_row(const T* HWY_RESTRICT from, std::size_t count, T* HWY_RESTRICT to) {
  Extent<T> extent;
  for (std::size_t k = 0; k < count; ++k) {
    to[k] = from[k];
    const T size = std::abs(from[k]);
    const bool finite = size < infinite<T>;
    extent.largest = finite && size > extent.largest ? size : extent.largest;
    extent.finite &= finite;
  }
  return extent;
}

// Keys as they stand; values as panels [keys][value rows] of columns.
template <class T>
void pack(const HeadSizes& sizes, const T* const* key_rows, const T* const* value_rows,
          PackedHead<T>& head) {
  const std::size_t width = sizes.width, rows = value_rows_of(sizes.value_width);
  head.key_rows = key_rows;
  head.value_rows = value_rows;
  head.odd_count = 0;
  head.largest_value = 0;
  T largest_key = 0;
  const std::size_t value_width = sizes.value_width;
  constexpr std::size_t together = 16;
  Extent<T> all;
  for (std::size_t key = 0; key < sizes.keys; ++key) {
    if (key % together == 0) {
      all = extent_of(value_rows + key, std::min(together, sizes.keys - key), value_width);
    }
    T* to = head.keys + key * width;
    const Extent<T> keys = copy_row(key_rows[key], width, to);
    largest_key = std::max(largest_key, keys.largest);
    if (!keys.finite) forget_digits(to, width);
    const T* from = value_rows[key];
    for (std::size_t column = 0; column < value_width; column += rows) {
      T* part = head.values + column * sizes.keys + key * rows;
      const std::size_t count = std::min(rows, value_width - column);
      std::copy_n(from + column, count, part);
      for (std::size_t k = count; k < rows; ++k) part[k] = T(0);
    }
    const Extent<T> values = all.finite ? all : extent_of(from, value_width);
    head.largest_value = std::max(head.largest_value, values.largest);
    if (values.finite) continue;
    head.odd_keys[head.odd_count++] = static_cast<std::uint32_t>(key);
    for (std::size_t column = 0; column < value_width; column += rows) {
      std::fill_n(head.values + column * sizes.keys + key * rows, rows, T(0));
    }
  }
  head.longest_key = largest_key * std::sqrt(static_cast<T>(width));
  std::fill_n(head.keys + sizes.keys * width,
              (rounded_up(sizes.keys, tile_rows) - sizes.keys) * width, T(0));
}

}  // namespace narrow
}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
