#pragma once

#include <cstddef>

#include "kernels/attention_block.hpp"
#include "kernels/packed_head.hpp"

namespace attn::kernels {

/// The numbers of scratch that attend_block() needs, from a multiple of 64 bytes on.
template <class T>
std::size_t attention_scratch_count(const HeadSizes& sizes) noexcept;

/// The output of softmax(scale · q kᵀ) v by blocks of keys: of each row only its largest score so
/// far, the sum of exponentials and the unscaled output are kept (online softmax: Milakov and
/// Gimelshein 2018; Dao et al. 2022), so that the memory does not grow with the keys. `value_rows`
/// are the rows as they were packed.
BlockOutcome attend_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                          const float* const* value_rows, float* scratch) noexcept;
BlockOutcome attend_block(const QueryBlock<double>& block, const PackedHead<double>& head,
                          const double* const* value_rows, double* scratch) noexcept;

}  // namespace attn::kernels
