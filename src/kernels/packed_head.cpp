#include <algorithm>
#include <array>

#include "kernels/attention_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/packed_head.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention_rows_inl.hpp"
#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

template <class T>
std::size_t key_count(const HeadSizes& sizes) {
  return in_lines<T>(rounded_up(sizes.keys, columns_of<T>) * sizes.width);
}

template <class T>
std::size_t value_count(const HeadSizes& sizes) {
  return in_lines<T>(sizes.keys * rounded_up(sizes.value_width, columns_of<T>));
}

// [keys, value_width] as panels [keys][columns_of<T>] of columns.
template <class T>
void pack_values(const HeadSizes& sizes, const T* const* rows, PackedHead<T>& head) {
  constexpr std::size_t columns = columns_of<T>;
  const hn::ScalableTag<T> d;
  const std::size_t width = sizes.value_width;
  head.non_finite_count = 0;
  head.largest_value = 0;
  constexpr std::size_t together = 16;
  Extent<T> all;
  for (std::size_t key = 0; key < sizes.keys; ++key) {
    if (key % together == 0) {
      all = extent_of(rows + key, std::min(together, sizes.keys - key), width);
    }
    const auto [largest, finite] = all.finite ? all : extent_of(rows[key], width);
    head.largest_value = std::max(head.largest_value, largest);
    if (!finite) head.non_finite_keys[head.non_finite_count++] = static_cast<std::uint32_t>(key);
    for (std::size_t column = 0; column < width; column += columns) {
      T* to = head.values + column * sizes.keys + key * columns;
      const std::size_t count = finite ? std::min(columns, width - column) : 0;
      if (count == columns) {
        hn::StoreU(hn::LoadU(d, rows[key] + column), d, to);
        hn::StoreU(hn::LoadU(d, rows[key] + column + lanes_of<T>), d, to + lanes_of<T>);
      } else {
        std::copy_n(rows[key] + column, count, to);
        std::fill(to + count, to + columns, T(0));
      }
    }
  }
}

template <class T>
void pack(const HeadSizes& sizes, const T* const* key_rows, const T* const* value_rows,
          PackedHead<T>& head) {
  head.key_rows = key_rows;
  head.value_rows = value_rows;
  head.longest_key = pack_rows<columns_of<T>>(key_rows, sizes.keys, sizes.width, T(1), head.keys);
  pack_values(sizes, value_rows, head);
}

std::size_t key_floats(const HeadSizes& sizes) {
  return key_count<float>(sizes);
}
std::size_t key_doubles(const HeadSizes& sizes) {
  return key_count<double>(sizes);
}
std::size_t value_floats(const HeadSizes& sizes) {
  return value_count<float>(sizes);
}
std::size_t value_doubles(const HeadSizes& sizes) {
  return value_count<double>(sizes);
}
void pack_floats(const HeadSizes& sizes, const float* const* key_rows,
                 const float* const* value_rows, PackedHead<float>& head) {
  pack(sizes, key_rows, value_rows, head);
}
void pack_doubles(const HeadSizes& sizes, const double* const* key_rows,
                  const double* const* value_rows, PackedHead<double>& head) {
  pack(sizes, key_rows, value_rows, head);
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(key_floats);
ATTN_FOR_TARGETS(key_doubles);
ATTN_FOR_TARGETS(value_floats);
ATTN_FOR_TARGETS(value_doubles);
ATTN_FOR_TARGETS(pack_floats);
ATTN_FOR_TARGETS(pack_doubles);

template <>
std::size_t packed_key_count<float>(const HeadSizes& sizes) noexcept {
  return ATTN_OF_TARGET(key_floats)(sizes);
}
template <>
std::size_t packed_key_count<double>(const HeadSizes& sizes) noexcept {
  return ATTN_OF_TARGET(key_doubles)(sizes);
}
template <>
std::size_t packed_value_count<float>(const HeadSizes& sizes) noexcept {
  return ATTN_OF_TARGET(value_floats)(sizes);
}
template <>
std::size_t packed_value_count<double>(const HeadSizes& sizes) noexcept {
  return ATTN_OF_TARGET(value_doubles)(sizes);
}

void pack_head(const HeadSizes& sizes, const float* const* key_rows, const float* const* value_rows,
               PackedHead<float>& head) noexcept {
  ATTN_OF_TARGET(pack_floats)(sizes, key_rows, value_rows, head);
}
void pack_head(const HeadSizes& sizes, const double* const* key_rows,
               const double* const* value_rows, PackedHead<double>& head) noexcept {
  ATTN_OF_TARGET(pack_doubles)(sizes, key_rows, value_rows, head);
}

}  // namespace attn::kernels
#endif
