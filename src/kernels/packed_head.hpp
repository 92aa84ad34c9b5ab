#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention_block.hpp"

namespace attn::kernels {

/// One key head, laid out for the kernels of float or double; what is packed for one CPU target
/// serves no other. Both parts start at multiples of 64 bytes.
template <class T>
struct PackedHead {
  T *keys = nullptr, *values = nullptr;
  /// The rows as they were before they were packed, [width] and [value_width] each.
  const T *const *key_rows = nullptr, *const *value_rows = nullptr;
  /// The keys whose value row holds NaN or infinity, ascending; room for all keys. Packed as zeros,
  /// such a row is added to those queries only that see its key.
  std::uint32_t* odd_keys = nullptr;
  std::size_t odd_count = 0;
  /// Of split tiles: the keys whose own row these cannot hold, ascending; room for all keys. They
  /// are packed as zeros.
  std::uint32_t* unfit_keys = nullptr;
  std::size_t unfit_count = 0;
  /// Of the numbers that are finite: no key is longer, as a vector, and no value is larger.
  T longest_key = 0, largest_value = 0;
  /// Of narrow heads: whether all numbers of all keys are finite.
  bool keys_finite = false;
};

/// How many numbers of type T the parts hold.
template <class T>
std::size_t packed_key_count(const HeadSizes& sizes) noexcept;
template <class T>
std::size_t packed_value_count(const HeadSizes& sizes) noexcept;

/// Packs the rows of one key head.
void pack_head(const HeadSizes& sizes, const float* const* key_rows, const float* const* value_rows,
               PackedHead<float>& head) noexcept;
void pack_head(const HeadSizes& sizes, const double* const* key_rows,
               const double* const* value_rows, PackedHead<double>& head) noexcept;

}  // namespace attn::kernels
