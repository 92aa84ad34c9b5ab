#pragma once

#include <cstddef>

#include "kernels/attention_block.hpp"
#include "kernels/packed_head.hpp"

namespace attn::kernels {

/// Most queries that one call of attend_split_block() takes: whole strips of 32.
constexpr std::size_t split_query_block = 128;

/// Whether the matrix tiles are in use and heads of these sizes fill them.
bool splits(const HeadSizes& sizes) noexcept;

/// How many floats the parts of such a head take, and the scratch of attend_split_block().
std::size_t split_key_count(const HeadSizes& sizes) noexcept;
std::size_t split_value_count(const HeadSizes& sizes) noexcept;
std::size_t split_scratch_count(const HeadSizes& sizes) noexcept;

/// Pack the key rows and the value rows of one key head as split tiles, which two threads may do at
/// the same time. Unfit are keys that are not finite, or longer than 2⁶⁰.
void pack_split_keys(const HeadSizes& sizes, const float* const* rows,
                     PackedHead<float>& head) noexcept;
void pack_split_values(const HeadSizes& sizes, const float* const* rows,
                       PackedHead<float>& head) noexcept;

/// attend_block() by matrix tiles, in the precision of float. BlockOutcome::out_of_range tells also
/// that an unfit key is seen, or that a query is not finite or longer than 2⁶⁰.
BlockOutcome attend_split_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                                float* scratch) noexcept;

}  // namespace attn::kernels
