#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention_block.hpp"
#include "kernels/packed_head.hpp"

namespace attn::kernels {

/// Keys of a bin that are summed in T: wide bins are cut, so that errors do not grow with them.
constexpr std::size_t most_bin_keys = 4096;

/// Bins of queries × bins of keys that weights are reduced to while they are computed, in double
/// precision.
struct WeightBins {
  const std::uint32_t* first_keys;  ///< [key_bins + 1]: the first key of each bin, then the end
  std::size_t key_bins;             ///< of at most most_bin_keys
  const std::uint32_t* query_bins;  ///< of each query of the block, counted from the first in it
  bool largest;                     ///< whether the largest weight is wanted, else the sum
  double* cells;                    ///< [query bins, columns]: what is added to
  const std::uint32_t* columns_of;  ///< [key_bins]: the column that a bin of keys belongs to
  std::size_t columns;
};

/// The numbers of scratch that attend_block() needs for these bins, 0 without, from a multiple of
/// 64 bytes on.
template <class T>
std::size_t attention_scratch_count(const HeadSizes& sizes, std::size_t key_bins) noexcept;

/// The output of softmax(scale · q kᵀ) v by blocks of keys: of each row only its largest score so
/// far, the sum of exponentials and the unscaled output are kept (online softmax: Milakov and
/// Gimelshein 2018; Dao et al. 2022), so that the memory does not grow with the keys. With `bins`
/// the weights are reduced to them on the way.
BlockOutcome attend_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                          const WeightBins* bins, float* scratch) noexcept;
BlockOutcome attend_block(const QueryBlock<double>& block, const PackedHead<double>& head,
                          const WeightBins* bins, double* scratch) noexcept;

}  // namespace attn::kernels
