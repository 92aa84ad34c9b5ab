#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention_block.hpp"
#include "kernels/packed_head.hpp"

namespace attn::kernels {

/// Bins of queries × bins of keys that weights are reduced to while they are computed, in double
/// precision.
struct WeightBins {
  const std::uint32_t* first_keys;  ///< [key_bins + 1]: the first key of each bin, then the end
  std::size_t key_bins;
  const std::uint32_t* query_bins;  ///< of each query of the block, counted from the first in it
  bool largest;                     ///< whether the largest weight is wanted, else the sum
  double* cells;                    ///< [query bins, key_bins]: what is added to
};

/// The numbers of scratch that attend_block() needs for these bins, 0 without, from a multiple of
/// 64 bytes on.
template <class T>
std::size_t attention_scratch_count(const HeadSizes& sizes, std::size_t key_bins) noexcept;

/// The output of softmax(scale · q kᵀ) v by blocks of keys: of each row only its largest score so
/// far, the sum of exponentials and the unscaled output are kept (online softmax: Milakov and
/// Gimelshein 2018; Dao et al. 2022), so that the memory does not grow with the keys. `value_rows`
/// are the rows as they were packed. With `bins` the weights are reduced to them on the way.
BlockOutcome attend_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                          const float* const* value_rows, const WeightBins* bins,
                          float* scratch) noexcept;
BlockOutcome attend_block(const QueryBlock<double>& block, const PackedHead<double>& head,
                          const double* const* value_rows, const WeightBins* bins,
                          double* scratch) noexcept;

}  // namespace attn::kernels
