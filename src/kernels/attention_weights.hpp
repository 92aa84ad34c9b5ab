#pragma once

#include <cstddef>

#include "kernels/attention_block.hpp"
#include "kernels/packed_head.hpp"

namespace attn::kernels {

/// The numbers of T that weigh_block() needs as scratch for weights of type W, from a multiple of
/// 64 bytes on.
template <class T, class W>
std::size_t weights_scratch_count(const HeadSizes& sizes) noexcept;

/// The weights softmax(scale · q kᵀ), whole rows computed where they are wanted: `weights` holds
/// rows of `keys` numbers. With an output also their product with the values.
BlockOutcome weigh_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                         float* weights, float* scratch) noexcept;
BlockOutcome weigh_block(const QueryBlock<double>& block, const PackedHead<double>& head,
                         double* weights, double* scratch) noexcept;
/// The same, computed in double precision and rounded.
BlockOutcome weigh_block(const QueryBlock<double>& block, const PackedHead<double>& head,
                         float* weights, double* scratch) noexcept;

}  // namespace attn::kernels
