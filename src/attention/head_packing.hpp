#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "attention/kernel_choice.hpp"
#include "kernels/narrow_attention.hpp"
#include "kernels/packed_head.hpp"
#include "kernels/rounded_attention.hpp"
#include "kernels/split_attention.hpp"
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
        odd_keys_(sizes.keys),
        unfit_keys_(kernel == KernelKind::tile_blocks ? sizes.keys : 0),
        head_{keys_.get(), values_.get(), {}, {}, odd_keys_.data(), 0, unfit_keys_.data()} {}

  /// Parts of the packing that threads may do at the same time.
  static std::size_t parts(KernelKind kernel) {
    return kernel == KernelKind::tile_blocks || kernel == KernelKind::rounded_pairs ? 2 : 1;
  }

  void fill(const KeyHead<T>& rows, std::size_t part) {
    if constexpr (std::is_same_v<T, float>) {
      if (parts(kernel_) == 2) {
        const bool split = kernel_ == KernelKind::tile_blocks;
        if (part == 0) {
          (split ? kernels::pack_split_keys : kernels::pack_key_pairs)(sizes_, rows.keys.data(),
                                                                       head_);
        } else {
          (split ? kernels::pack_split_values : kernels::pack_value_pairs)(
              sizes_, rows.values.data(), head_);
        }
        return;
      }
    }
    if (kernel_ == KernelKind::narrow_heads) {
      kernels::pack_narrow_head(sizes_, rows.keys.data(), rows.values.data(), head_);
    } else {
      kernels::pack_head(sizes_, rows.keys.data(), rows.values.data(), head_);
    }
  }
  void fill(const KeyHead<T>& rows) {
    for (std::size_t part = 0; part < parts(kernel_); ++part) fill(rows, part);
  }

  const kernels::PackedHead<T>& head() const { return head_; }

 private:
  std::size_t key_count() const {
    if (kernel_ == KernelKind::narrow_heads) return kernels::narrow_key_count<T>(sizes_);
    if (kernel_ == KernelKind::tile_blocks) return kernels::split_key_count(sizes_);
    if (kernel_ == KernelKind::rounded_pairs) return kernels::pair_key_count(sizes_);
    return kernels::packed_key_count<T>(sizes_);
  }
  std::size_t value_count() const {
    if (kernel_ == KernelKind::narrow_heads) return kernels::narrow_value_count<T>(sizes_);
    if (kernel_ == KernelKind::tile_blocks) return kernels::split_value_count(sizes_);
    if (kernel_ == KernelKind::rounded_pairs) return kernels::pair_value_count(sizes_);
    return kernels::packed_value_count<T>(sizes_);
  }

  KernelKind kernel_ = KernelKind::blocks;
  kernels::HeadSizes sizes_{};
  std::shared_ptr<T> keys_, values_;
  std::vector<std::uint32_t> odd_keys_, unfit_keys_;
  kernels::PackedHead<T> head_{};
};

}  // namespace attn
