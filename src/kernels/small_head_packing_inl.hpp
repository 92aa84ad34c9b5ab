// Packing of heads up to small_head_width wide. Compiled once for each CPU target.

#if defined(ATTN_KERNELS_SMALL_HEAD_PACKING_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_SMALL_HEAD_PACKING_INL
#undef ATTN_KERNELS_SMALL_HEAD_PACKING_INL
#else
#define ATTN_KERNELS_SMALL_HEAD_PACKING_INL
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "kernels/attention_kernels.hpp"
#include "kernels/number_sizes_inl.hpp"
#include "kernels/tile_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace small {

// The number of rows of the tile that adds values, such that the fewest stay empty.
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

// Rows that can be treated as one wide row: `count` if they are adjacent in memory, else 1.
template <class T>
std::size_t adjacent(const T* const* rows, std::size_t count, std::size_t width) {
  for (std::size_t i = 1; i < count; ++i) {
    if (rows[i] != rows[0] + i * width) return 1;
  }
  return count;
}

// Copies rows one after the other to `to`, which has room up to `end`. The extent is {0, false} if
// any number is not finite.
template <class T>
Extent<T> copy_rows(const T* const* rows, std::size_t count, std::size_t width, T* to,
                    const T* end) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t size = lanes_of<T>;
  const auto zero = hn::Zero(d);
  auto largest = zero, not_finite = zero;
  for (std::size_t i = 0; i < count; ++i, to += width) {
    for (std::size_t k = 0; k < width; k += size) {
      const T* const from = rows[i] + k;
      const bool whole = k + size <= width;
      const auto x = whole ? hn::LoadU(d, from) : first_numbers(d, from, width - k);
      not_finite = hn::MulAdd(x, zero, not_finite);
      largest = larger(d, hn::Abs(x), largest);
      // Lanes beyond the row are overwritten by the next one.
      if (to + k + size <= end) {
        hn::StoreU(x, d, to + k);
      } else {
        std::copy(from, rows[i] + width, to + k);
      }
    }
  }
  if (!hn::AllTrue(d, hn::Eq(not_finite, zero))) return {0, false};
  return {hn::GetLane(hn::MaxOfLanes(d, largest)), true};
}

// Spreads one row of values over the panels, which are `stride` numbers apart.
template <std::size_t rows, class T>
HWY_INLINE void put_value(const T* from, std::size_t width, std::size_t stride, T* to) {
  std::size_t column = 0;
  for (; column + rows <= width; column += rows, to += stride) {
    std::copy_n(from + column, rows, to);
  }
  if (column == width) return;
  for (std::size_t k = 0; k < rows; ++k) to[k] = column + k < width ? from[column + k] : T(0);
}

// Packs values as panels [keys][rows] of columns; rows that are not finite as zeros.
template <std::size_t rows, class T>
void pack_values(const HeadSizes& sizes, const T* const* value_rows, PackedHead<T>& head) {
  const std::size_t width = sizes.value_width, stride = rows * sizes.keys;
  constexpr std::size_t together = 16;
  head.non_finite_count = 0;
  head.largest_value = 0;
  for (std::size_t first = 0; first < sizes.keys; first += together) {
    const std::size_t count = std::min(together, sizes.keys - first);
    const std::size_t joined = adjacent(value_rows + first, count, width);
    const Extent<T> all = extent_of(value_rows + first, count / joined, joined * width);
    head.largest_value = std::max(head.largest_value, all.largest);
    T* to = head.values + first * rows;
    if (all.finite && joined == count && width == rows) {
      std::copy_n(value_rows[first], count * rows, to);
      continue;
    }
    for (std::size_t key = first; key < first + count; ++key, to += rows) {
      const T* const from = value_rows[key];
      const Extent<T> own = all.finite ? all : extent_of(from, width);
      head.largest_value = std::max(head.largest_value, own.largest);
      if (own.finite) {
        put_value<rows>(from, width, stride, to);
        continue;
      }
      head.non_finite_keys[head.non_finite_count++] = static_cast<std::uint32_t>(key);
      for (std::size_t column = 0; column < width; column += rows) {
        std::fill_n(to + column / rows * stride, rows, T(0));
      }
    }
  }
}

template <class T>
void pack_keys(const HeadSizes& sizes, const T* const* key_rows, PackedHead<T>& head) {
  const std::size_t width = sizes.width;
  constexpr std::size_t together = 16;
  const T* const end = head.keys + rounded_up(sizes.keys, tile_rows) * width;
  head.keys_finite = true;
  T largest = 0;
  for (std::size_t key = 0; key < sizes.keys; key += together) {
    const std::size_t count = std::min(together, sizes.keys - key);
    T* const to = head.keys + key * width;
    const std::size_t joined = adjacent(key_rows + key, count, width);
    const Extent<T> extent = copy_rows(key_rows + key, count / joined, joined * width, to, end);
    largest = std::max(largest, extent.largest);
    if (extent.finite) continue;
    head.keys_finite = false;
    for (std::size_t i = 0; i < count; ++i) {
      const Extent<T> own = copy_row(key_rows[key + i], width, to + i * width);
      largest = std::max(largest, own.largest);
      if (!own.finite) forget_digits(to + i * width, width);
    }
  }
  head.longest_key = largest * std::sqrt(static_cast<T>(width));
  std::fill_n(head.keys + sizes.keys * width,
              (rounded_up(sizes.keys, tile_rows) - sizes.keys) * width, T(0));
}

template <class T>
void pack(const HeadSizes& sizes, const T* const* key_rows, const T* const* value_rows,
          PackedHead<T>& head) {
  head.key_rows = key_rows;
  head.value_rows = value_rows;
  pack_keys(sizes, key_rows, head);
  switch (value_rows_of(sizes.value_width)) {
    case 4:
      return pack_values<4>(sizes, value_rows, head);
    case 6:
      return pack_values<6>(sizes, value_rows, head);
    case 8:
      return pack_values<8>(sizes, value_rows, head);
    default:
      return pack_values<12>(sizes, value_rows, head);
  }
}

}  // namespace small
}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
