#pragma once

#include <cstddef>

#include "kernels/attention_block.hpp"
#include "kernels/packed_head.hpp"

namespace attn::kernels {

/// How each step of an attention in a type of 16 bits is rounded.
struct StepRounding {
  enum class Type { bfloat16, float16 };
  Type type = Type::bfloat16;
  /// Whether the weights stay floats until they are multiplied with the values, as biases and sinks
  /// have it, which are floats.
  bool wide_weights = false;
};

/// Whether pairs of numbers of the type are multiplied at once, on matrix tiles. A head is packed
/// in another way for that.
bool multiplies_pairs(StepRounding::Type type) noexcept;

/// How many floats the parts of a head take that is packed for pairs.
std::size_t pair_key_count(const HeadSizes& sizes) noexcept;
std::size_t pair_value_count(const HeadSizes& sizes) noexcept;

/// Packs the keys or the values of one key head for pairs: finite numbers of bfloat16.
void pack_key_pairs(const HeadSizes& sizes, const float* const* rows,
                    PackedHead<float>& head) noexcept;
void pack_value_pairs(const HeadSizes& sizes, const float* const* rows,
                      PackedHead<float>& head) noexcept;

/// The numbers that attend_rounded_block() needs as scratch, from a multiple of 64 bytes on: whole
/// rows of scores.
std::size_t rounded_scratch_count(const HeadSizes& sizes) noexcept;

/// The block's attention, all of whose numbers are of the type and finite: sums are made in float
/// and rounded as docs/numerics.md has it. `weights`, rows of `keys` numbers, may be null. The head
/// is packed for pairs if these are multiplied, else by pack_head(). Scores or sums that leave the
/// range of the type are out of range.
BlockOutcome attend_rounded_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                                  const StepRounding& rounding, float* weights,
                                  float* scratch) noexcept;

}  // namespace attn::kernels
