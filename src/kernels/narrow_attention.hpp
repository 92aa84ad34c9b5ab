#pragma once

#include <cstddef>

#include "kernels/attention_block.hpp"
#include "kernels/packed_head.hpp"

namespace attn::kernels {

/// Widest heads, of keys and of values, that the functions below take.
constexpr std::size_t narrow_width = 16;

/// How many numbers of type T the parts of a packed narrow head hold, and how many of scratch
/// attend_narrow_block() needs, from a multiple of 64 bytes on.
template <class T>
std::size_t narrow_key_count(const HeadSizes& sizes) noexcept;
template <class T>
std::size_t narrow_value_count(const HeadSizes& sizes) noexcept;
template <class T>
std::size_t narrow_scratch_count(const HeadSizes& sizes) noexcept;

/// Packs the rows of one key head for attend_narrow_block().
void pack_narrow_head(const HeadSizes& sizes, const float* const* key_rows,
                      const float* const* value_rows, PackedHead<float>& head) noexcept;
void pack_narrow_head(const HeadSizes& sizes, const double* const* key_rows,
                      const double* const* value_rows, PackedHead<double>& head) noexcept;

/// What attend_block() computes, with one query a lane: of a head as narrow as this a vector along
/// its width would be half empty, and the scores of a query have not to be reduced.
BlockOutcome attend_narrow_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                                 float* scratch) noexcept;
BlockOutcome attend_narrow_block(const QueryBlock<double>& block, const PackedHead<double>& head,
                                 double* scratch) noexcept;

}  // namespace attn::kernels
