#pragma once

#include <cstddef>

#include "attn/attention.hpp"

#include "attention/geometry.hpp"
#include "kernels/attention_kernels.hpp"

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

}  // namespace attn
