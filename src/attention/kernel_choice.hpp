#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "attn/attention.hpp"

#include "attention/geometry.hpp"
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

/// The kernel for the sizes. `products`: whether scores are products of queries and keys; `single`:
/// whether they are floats.
KernelKind kernel_for(const AttentionOptions& options, const Geometry& geometry, bool products,
                      bool single);

/// The kernels' name of a 16-bit type.
kernels::StepRounding::Type rounded_type(DType half);

/// Layout of a key head for a kernel.
template <class T>
struct HeadLayout {
  /// Sizes of the packed parts in numbers of T.
  std::size_t (*key_count)(const kernels::HeadSizes& sizes);
  std::size_t (*value_count)(const kernels::HeadSizes& sizes);
  std::size_t parts;  ///< that threads may pack at the same time: 2 for keys and values, or 1
  /// Packs one part of the rows, or all of them.
  void (*pack)(const kernels::HeadSizes& sizes, const T* const* keys, const T* const* values,
               std::size_t part, kernels::PackedHead<T>& head);
  bool may_be_unfit;  ///< whether it leaves keys out that it cannot hold
};

/// A block of queries with all that a kernel takes beside it.
template <class T, class R>
struct KernelBlock {
  const kernels::QueryBlock<T>& queries;
  const kernels::PackedHead<T>& head;
  const kernels::WeightBins* bins;  ///< null = none
  kernels::StepRounding rounding;
  R* weights;  ///< null = not wanted
  T* scratch;
};

/// All that is asked of a kernel, computing in T for weights in R.
template <class T, class R>
struct Kernel {
  HeadLayout<T> layout;
  /// Queries per block: whole strips or panels, few enough for threads to share the blocks. Each
  /// block reads all keys and values. Wide ones outgrow the second-level cache, so that blocks are
  /// larger, as they are where there are enough of them; 0 = never.
  std::size_t queries, queries_of_wide, queries_of_many;
  bool makes_weights;  ///< whether its weights need room even if they are not wanted
  /// Scratch in numbers of T. `weights`: whether they are wanted or replaced; `bins`: of keys.
  std::size_t (*scratch)(const kernels::HeadSizes& sizes, bool weights, std::size_t bins);
  /// Computes a block; null if it takes the queries of all heads of a group together, part by part
  /// of their keys.
  kernels::BlockOutcome (*attend)(const KernelBlock<T, R>& block);

  /// For that many queries of all heads together. How many threads there are must not change the
  /// blocks, as the order of sums may follow them.
  std::size_t block_queries(const kernels::HeadSizes& sizes, std::size_t all) const {
    constexpr std::size_t enough = 32;
    if (sizes.width + sizes.value_width >= 768) return queries_of_wide;
    return queries_of_many > 0 && all >= enough * queries_of_many ? queries_of_many : queries;
  }
};

/// The row of the table of kernels. T and R are float and float, double and double, or double and
/// float; kernels of floats alone have no meaning for the others.
template <class T, class R>
Kernel<T, R> kernel_of(KernelKind kind);

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
  HeadPacking(const HeadLayout<T>& layout, const kernels::HeadSizes& sizes)
      : layout_(layout),
        sizes_(sizes),
        keys_(new_elements<T>(layout.key_count(sizes))),
        values_(new_elements<T>(layout.value_count(sizes))),
        non_finite_keys_(sizes.keys),
        unfit_keys_(layout.may_be_unfit ? sizes.keys : 0),
        head_{keys_.get(), values_.get(), {}, {}, non_finite_keys_.data(), 0, unfit_keys_.data()} {}

  /// Packs one part of the rows, or all of them.
  void fill(const KeyHead<T>& rows, std::size_t part) {
    layout_.pack(sizes_, rows.keys.data(), rows.values.data(), part, head_);
  }
  void fill(const KeyHead<T>& rows) {
    for (std::size_t part = 0; part < layout_.parts; ++part) fill(rows, part);
  }

  const kernels::PackedHead<T>& head() const { return head_; }

 private:
  HeadLayout<T> layout_{};
  kernels::HeadSizes sizes_{};
  std::shared_ptr<T> keys_, values_;
  std::vector<std::uint32_t> non_finite_keys_, unfit_keys_;
  kernels::PackedHead<T> head_{};
};

}  // namespace attn
