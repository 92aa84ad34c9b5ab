#pragma once

#include <cstddef>
#include <cstdint>

namespace attn::kernels {

/// Most queries that one call of the functions below takes.
constexpr std::size_t query_block = 96;

/// The sizes of one head: [queries, width] against [keys, width] and [keys, value_width].
struct HeadSizes {
  std::size_t keys, width, value_width;
};

/// One key head, laid out for the functions below; what is packed for one CPU target serves no
/// other. Both parts start at multiples of 64 bytes.
struct PackedHead {
  float *keys, *values;
  /// The keys whose value row holds NaN or infinity, ascending; room for all keys. Packed as zeros,
  /// such a row is added to those queries only that see its key.
  std::uint32_t* odd_keys;
  std::size_t odd_count;
};
std::size_t packed_key_floats(const HeadSizes& sizes) noexcept;
std::size_t packed_value_floats(const HeadSizes& sizes) noexcept;

/// Packs the rows of one key head. A null `value_rows` packs keys alone.
void pack_head(const HeadSizes& sizes, const float* const* key_rows, const float* const* value_rows,
               PackedHead& head) noexcept;

/// What a mask leaves of one block of queries. Query i of the block sees keys first[i] … end[i] −
/// 1; `added`, if there is one, tells what is added to its scores of `count` keys from first_key
/// on: −∞ hides a key whatever its score is.
struct BlockMask {
  const std::uint32_t *first, *end;
  void (*added)(const void* context, std::size_t query, std::size_t first_key, std::size_t count,
                float* row) noexcept;
  const void* context;
};

/// Up to query_block queries of one query head. Strides count floats between rows.
struct AttentionBlock {
  HeadSizes sizes;
  const float* query;
  std::size_t query_stride, queries;
  float scale;
  float softcap;  ///< 0 = none
  BlockMask mask;
  const PackedHead* head;
  const float* const* value_rows;  ///< as they were packed
  float* output;                   ///< null = only weights are wanted
  std::size_t output_stride;
  float* weights;  ///< rows of `keys` numbers; null = none wanted
};

/// What the caller should know of the rows of a block.
struct BlockOutcome {
  std::size_t empty_rows = 0;  ///< that see no key: their weights and output are zeros
  /// Whether a sum of exponentials or an output is not finite. Weights and output are then to be
  /// computed in another way; an output without weights is right if the inputs are not finite.
  bool overflow = false;
};

/// The floats of scratch that attend_block() needs, from a multiple of 64 bytes on.
std::size_t attention_scratch_floats(const HeadSizes& sizes) noexcept;

/// softmax(scale · q kᵀ) v by blocks of keys: of each row only its largest score so far, the sum of
/// exponentials and the unscaled output are kept (online softmax: Milakov and Gimelshein 2018; Dao
/// et al. 2022). Without weights the memory does not grow with the keys.
BlockOutcome attend_block(const AttentionBlock& block, float* scratch) noexcept;

}  // namespace attn::kernels
