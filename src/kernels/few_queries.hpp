#pragma once

#include <cstddef>
#include <span>

#include "kernels/attention_block.hpp"
#include "kernels/packed_head.hpp"

namespace attn::kernels {

/// Most queries of a head for which the functions below pay: packing its keys would take longer
/// than the products.
constexpr std::size_t few_queries = 8;

/// Keys that one call of attend_keys() takes at most. Fixed, so that results do not depend on how
/// many threads share the keys.
constexpr std::size_t key_part = 1024;

/// How many numbers attend_keys() writes: of each query the unscaled output, the shift of its
/// scores and the sum of its exponentials.
constexpr std::size_t partial_count(std::size_t queries, const HeadSizes& sizes) {
  return queries * (sizes.value_width + 2);
}

/// What the keys [first, first + count) contribute to blocks of up to few_queries queries each,
/// those of the heads that share the keys, but for the values that are not finite: whether there
/// are any. The head is not packed, only its rows are read, once for all blocks. What a block gets
/// is written `stride` numbers after that of the block before it.
bool attend_keys(std::span<const QueryBlock<float>* const> blocks, const PackedHead<float>& head,
                 std::size_t first, std::size_t count, float* partials,
                 std::size_t stride) noexcept;
bool attend_keys(std::span<const QueryBlock<double>* const> blocks, const PackedHead<double>& head,
                 std::size_t first, std::size_t count, double* partials,
                 std::size_t stride) noexcept;

/// The output of a block from the partial results of all parts of its keys, which stand one after
/// the other and are overwritten, and from the head's odd keys.
BlockOutcome merge_partials(const QueryBlock<float>& block, const PackedHead<float>& head,
                            float* partials, std::size_t parts) noexcept;
BlockOutcome merge_partials(const QueryBlock<double>& block, const PackedHead<double>& head,
                            double* partials, std::size_t parts) noexcept;

}  // namespace attn::kernels
