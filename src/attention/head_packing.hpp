#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "attention/kernel_choice.hpp"
#include "kernels/attention_kernels.hpp"
#include "tensor/elements.hpp"

namespace attn {

/// The rows of one key head.
template <class T>
struct KeyHead {
  std::vector<const T*> keys, values;
};

/// A key head as a kernel wants it. T is float or double, float for tiles.
template <class T>
class HeadPacking {
 public:
  HeadPacking() = default;
  HeadPacking(KernelKind kernel, const kernels::HeadSizes& sizes)
      : kernel_(kernel),
        sizes_(sizes),
        keys_(new_elements<T>(key_count())),
        values_(new_elements<T>(value_count())),
        non_finite_keys_(sizes.keys),
        unfit_keys_(kernel == KernelKind::tile_blocks ? sizes.keys : 0),
        head_{keys_.get(), values_.get(), {}, {}, non_finite_keys_.data(), 0, unfit_keys_.data()} {}

  /// The parts that threads may pack at the same time: keys and values by themselves, or one.
  static std::size_t parts(KernelKind kernel) {
    switch (kernel) {
      case KernelKind::tile_blocks:
      case KernelKind::rounded_pairs:
        return 2;
      case KernelKind::whole_rows:
      case KernelKind::few_queries:
      case KernelKind::small_heads:
      case KernelKind::blocks:
      case KernelKind::rounded:
        break;
    }
    return 1;
  }

  /// Packs part 0 or 1 of parts() of the rows.
  void fill(const KeyHead<T>& rows, std::size_t part) {
    const T *const *keys = rows.keys.data(), *const *values = rows.values.data();
    switch (kernel_) {
      case KernelKind::small_heads:
        kernels::pack_small_head(sizes_, keys, values, head_);
        return;
      case KernelKind::tile_blocks:
        if constexpr (std::is_same_v<T, float>) {
          if (part == 0) kernels::pack_split_keys(sizes_, keys, head_);
          if (part == 1) kernels::pack_split_values(sizes_, values, head_);
        }
        return;
      case KernelKind::rounded_pairs:
        if constexpr (std::is_same_v<T, float>) {
          if (part == 0) kernels::pack_key_pairs(sizes_, keys, head_);
          if (part == 1) kernels::pack_value_pairs(sizes_, values, head_);
        }
        return;
      case KernelKind::whole_rows:
      case KernelKind::few_queries:
      case KernelKind::blocks:
      case KernelKind::rounded:
        kernels::pack_head(sizes_, keys, values, head_);
        return;
    }
  }
  void fill(const KeyHead<T>& rows) {
    for (std::size_t part = 0; part < parts(kernel_); ++part) fill(rows, part);
  }

  const kernels::PackedHead<T>& head() const { return head_; }

 private:
  std::size_t key_count() const {
    switch (kernel_) {
      case KernelKind::small_heads:
        return kernels::small_key_count<T>(sizes_);
      case KernelKind::tile_blocks:
        return kernels::split_key_count(sizes_);
      case KernelKind::rounded_pairs:
        return kernels::pair_key_count(sizes_);
      case KernelKind::whole_rows:
      case KernelKind::few_queries:
      case KernelKind::blocks:
      case KernelKind::rounded:
        break;
    }
    return kernels::packed_key_count<T>(sizes_);
  }
  std::size_t value_count() const {
    switch (kernel_) {
      case KernelKind::small_heads:
        return kernels::small_value_count<T>(sizes_);
      case KernelKind::tile_blocks:
        return kernels::split_value_count(sizes_);
      case KernelKind::rounded_pairs:
        return kernels::pair_value_count(sizes_);
      case KernelKind::whole_rows:
      case KernelKind::few_queries:
      case KernelKind::blocks:
      case KernelKind::rounded:
        break;
    }
    return kernels::packed_value_count<T>(sizes_);
  }

  KernelKind kernel_ = KernelKind::blocks;
  kernels::HeadSizes sizes_{};
  std::shared_ptr<T> keys_, values_;
  std::vector<std::uint32_t> non_finite_keys_, unfit_keys_;
  kernels::PackedHead<T> head_{};
};

}  // namespace attn
