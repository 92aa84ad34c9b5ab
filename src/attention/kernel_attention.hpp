#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "attn/attention.hpp"

#include "attention/additive_scores.hpp"
#include "attention/geometry.hpp"
#include "attention/visibility.hpp"
#include "kernels/attention_kernels.hpp"
#include "tensor/elements.hpp"

namespace attn {

/// Which kernel computes.
enum class KernelKind {
  whole_rows,
  few_queries,
  small_heads,
  tile_blocks,
  blocks,
  rounded,       ///< each step in a narrow type
  rounded_pairs  ///< the same from pairs of bfloat16
};

constexpr bool is_rounded(KernelKind kernel) {
  return kernel == KernelKind::rounded || kernel == KernelKind::rounded_pairs;
}

/// A narrow type as the kernels know it.
kernels::StepRounding::Type rounded_type(DType narrow);

/// The kernel whose arrangement suits the sizes; `products` tells whether scores are products,
/// `single` whether they are floats.
KernelKind kernel_for(const AttentionOptions& options, const Geometry& geometry, bool products,
                      bool single);

/// How many queries a block of it has: whole strips or panels, and little enough of them for the
/// threads to share.
std::size_t block_queries(KernelKind kernel, const kernels::HeadSizes& sizes);

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

  /// The number of parts that threads may pack at the same time: 2 for keys and values, or 1.
  static std::size_t parts(KernelKind kernel);

  /// Packs one part of the rows, or all of them.
  void fill(const KeyHead<T>& rows, std::size_t part);
  void fill(const KeyHead<T>& rows) {
    for (std::size_t part = 0; part < parts(kernel_); ++part) fill(rows, part);
  }

  const kernels::PackedHead<T>& head() const { return head_; }

 private:
  std::size_t key_count() const;
  std::size_t value_count() const;

  KernelKind kernel_ = KernelKind::blocks;
  kernels::HeadSizes sizes_{};
  std::shared_ptr<T> keys_, values_;
  std::vector<std::uint32_t> non_finite_keys_, unfit_keys_;
  kernels::PackedHead<T> head_{};
};

/// One attention of products by the kernels, which compute in T what is wanted in R, or in narrow
/// types round each step of float. With `scores`, these are added to the products before the mask.
/// Absent if the numbers leave the range that T is good for, or a narrow type's.
template <class T, class R = T>
std::optional<AttentionResult> kernel_attention(const AttentionOptions& options,
                                                const Sequences& sequences, double scale,
                                                const Geometry& geometry,
                                                const Visibility& visibility,
                                                const AdditiveScores<T>* scores = nullptr);

}  // namespace attn
