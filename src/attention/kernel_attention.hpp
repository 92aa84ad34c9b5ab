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

/// Kernels of attention (kernels/attention_kernels.hpp).
enum class KernelKind {
  whole_rows,    ///< weigh_block()
  few_queries,   ///< attend_keys()
  small_heads,   ///< attend_small_block()
  tile_blocks,   ///< attend_split_block()
  blocks,        ///< attend_block()
  rounded,       ///< attend_rounded_block()
  rounded_pairs  ///< attend_rounded_block() with pairs of bfloat16
};

/// The kernels' name of a narrow type.
kernels::StepRounding::Type rounded_type(DType narrow);

/// The kernel for the sizes. `products`: whether scores are products of queries and keys; `single`:
/// whether they are floats.
KernelKind kernel_for(const AttentionOptions& options, const Geometry& geometry, bool products,
                      bool single);

/// Queries per block of a kernel: whole strips or panels, few enough for threads to share the
/// blocks.
std::size_t block_queries(KernelKind kernel, const kernels::HeadSizes& sizes);

/// Starts of the rows of one key head.
template <class T>
struct KeyHead {
  std::vector<const T*> keys, values;
};

/// A key head in the layout of its kernel. T is float or double; float for tiles.
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

/// One attention of products by the kernels, computed in T for results in R; for narrow types in
/// float, each step rounded. `scores` unless null are added to the products before the mask. Absent
/// if numbers leave the range in which T is precise, or that of a narrow type.
template <class T, class R = T>
std::optional<AttentionResult> kernel_attention(const AttentionOptions& options,
                                                const Sequences& sequences, double scale,
                                                const Geometry& geometry,
                                                const Visibility& visibility,
                                                const AdditiveScores<T>* scores = nullptr);

}  // namespace attn
