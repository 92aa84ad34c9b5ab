#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

// The attention kernels: softmax(scale · q kᵀ) v of one head at a time, in float or double. A key
// head is packed once, then attended by blocks of queries. Pointers and sizes only; attention/
// chooses the kernel.

namespace attn::kernels {

/// Largest number of queries in a block: whole strips of 12 or 6; and in one for matrix tiles,
/// whole strips of 32.
constexpr std::size_t query_block = 132, split_query_block = 256;
constexpr std::size_t most_block_queries = std::max(query_block, split_query_block);

/// Terms of BlockMask::terms that may be read beyond those of any query and key, on either side.
constexpr std::size_t distance_margin = 64;

/// Keys of a group of BlockMask::seen_groups, which whole groups make up each block of keys.
constexpr std::size_t key_group = 64;

/// The sizes of one head: queries [Lq,width], keys [keys,width], values [keys,value_width].
struct HeadSizes {
  std::size_t keys, width, value_width;
};

/// The scores of some queries of a block and some keys, rows `stride` numbers apart.
template <class T>
struct ScoreRows {
  std::size_t query, queries, first_key, keys;
  T* scores;
  std::size_t stride;
};

/// The mask of one block of queries. Query i sees the keys first[i] … end[i] − 1.
template <class T>
struct BlockMask {
  const std::uint32_t *first, *end;
  /// Null, or writes what is added to the scores of one query and `count` keys from `first_key` on;
  /// −∞ hides a key whatever its score is.
  void (*added)(void* context, std::size_t query, std::size_t first_key, std::size_t count,
                T* row) noexcept;
  void* context;  ///< of these functions
  /// Null, or biases by distance: terms[j − i] is added to the score of key j and query i of the
  /// block. They are finite, with distance_margin more on either side.
  const T* terms = nullptr;
  /// Whether blocks of keys are best visited from the last one on; always so with `terms`.
  bool last_keys_first = false;
  /// Null, or replaces scores, also those of keys that a query does not see, before softcap and
  /// biases. A score of 1 is `unit` there and in the result; −∞ hides a key.
  void (*rewritten)(void* context, const ScoreRows<T>& rows, double unit) noexcept = nullptr;
  /// Null, or 0 for each group of key_group keys that no query of the block sees; attend_block()
  /// and attend_split_block() pass over these unless weights are replaced.
  const std::uint8_t* seen_groups = nullptr;
  /// A bound of how much the replaced scores change per change of the scores.
  double steepness = 1;
};

/// Up to query_block queries of one query head, or split_query_block for attend_split_block().
/// Strides count numbers of T between rows.
template <class T>
struct QueryBlock {
  HeadSizes sizes;
  const T* query;
  std::size_t query_stride, queries;
  double scale;
  double softcap;  ///< 0 = none
  BlockMask<T> mask;
  T* output;  ///< null = weights only
  std::size_t output_stride;
  /// Weights ≤ vanishing underflow to 0 in the result's type.
  double vanishing;
  /// One more score in the sum of each row's exponentials, not scaled; −∞ = none.
  double sink = -std::numeric_limits<double>::infinity();
  /// Null, or replaces the weights of one query and `count` keys from `first_key` on, of which
  /// `seen` has 1 for those that are not hidden, or is null if none is. Values are finite. Only
  /// weigh_block() and attend_split_block() offer it.
  void (*reweighted)(void* context, std::size_t query, std::size_t first_key, std::size_t count,
                     const std::uint8_t* seen, T* weights) noexcept = nullptr;
};

/// Conditions met while a block was computed.
struct BlockOutcome {
  std::size_t empty_rows = 0;  ///< rows that see no key: their weights and output are zeros
  /// A sum of exponentials, or of finite values, is not finite. Weights and output are invalid; an
  /// output without weights is right if the inputs are not finite.
  bool overflow = false;
  /// Finite inputs so large that a score or a sum may leave the range of T, or that scores keep too
  /// few of its digits. Weights and output are invalid and need a wider type.
  bool out_of_range = false;
};

/// One key head, laid out for the kernels of T on one CPU target. `keys` and `values` begin at
/// multiples of 64 bytes.
template <class T>
struct PackedHead {
  T *keys = nullptr, *values = nullptr;
  /// The rows before packing, [width] and [value_width] each.
  const T *const *key_rows = nullptr, *const *value_rows = nullptr;
  /// Keys whose value row holds NaN or infinity, ascending; room for all keys. They are packed as
  /// zeros, and their values are added to the queries that see them alone.
  std::uint32_t* non_finite_keys = nullptr;
  std::size_t non_finite_count = 0;
  /// Keys that split tiles cannot hold, ascending; room for all keys. They are packed as zeros.
  std::uint32_t* unfit_keys = nullptr;
  std::size_t unfit_count = 0;
  /// Bounds of the finite numbers: the length of any key, the absolute value of any value.
  T longest_key = 0, largest_value = 0;
  /// Whether all numbers of all keys are finite; known of small heads only.
  bool keys_finite = false;
};

/// Sizes of the packed parts in numbers of T, and the packing of one key head.
template <class T>
std::size_t packed_key_count(const HeadSizes& sizes) noexcept;
template <class T>
std::size_t packed_value_count(const HeadSizes& sizes) noexcept;
void pack_head(const HeadSizes& sizes, const float* const* key_rows, const float* const* value_rows,
               PackedHead<float>& head) noexcept;
void pack_head(const HeadSizes& sizes, const double* const* key_rows,
               const double* const* value_rows, PackedHead<double>& head) noexcept;

// attention_weights.cpp: whole rows of weights.

/// Scratch of weigh_block() for weights of type W, in numbers of T from a multiple of 64 bytes on.
template <class T, class W>
std::size_t weights_scratch_count(const HeadSizes& sizes) noexcept;

/// The weights softmax(scale · q kᵀ), [queries,keys], and their product with the values unless the
/// block has no output. Weights of float may be computed in double precision and rounded.
BlockOutcome weigh_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                         float* weights, float* scratch) noexcept;
BlockOutcome weigh_block(const QueryBlock<double>& block, const PackedHead<double>& head,
                         double* weights, double* scratch) noexcept;
BlockOutcome weigh_block(const QueryBlock<double>& block, const PackedHead<double>& head,
                         float* weights, double* scratch) noexcept;

// fused_attention.cpp: the output without the weights.

/// Keys of a bin that are summed in T: wider bins are cut, so that errors do not grow with them.
constexpr std::size_t most_bin_keys = 4096;

/// Bins of queries × bins of keys that weights are reduced to while they are computed, in double
/// precision.
struct WeightBins {
  const std::uint32_t* first_keys;  ///< [key_bins + 1]: the first key of each bin, then the end
  std::size_t key_bins;             ///< each of at most most_bin_keys keys
  const std::uint32_t* query_bins;  ///< one per query of the block, counted from its first bin
  bool largest;                     ///< whether cells take the largest weight, else the sum
  double* cells;                    ///< [query bins, columns]: added to
  const std::uint32_t* columns_of;  ///< [key_bins]: the column of each bin of keys
  std::size_t columns;
};

/// Scratch of attend_block() with that number of bins, 0 without, in numbers of T from a multiple
/// of 64 bytes on.
template <class T>
std::size_t attention_scratch_count(const HeadSizes& sizes, std::size_t key_bins) noexcept;

/// The output of softmax(scale · q kᵀ) v by blocks of keys: each row keeps only its largest score,
/// its sum of exponentials and its unscaled output (online softmax: Milakov and Gimelshein 2018;
/// Dao et al. 2022), so that the memory does not grow with the keys. `bins` may be null.
BlockOutcome attend_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                          const WeightBins* bins, float* scratch) noexcept;
BlockOutcome attend_block(const QueryBlock<double>& block, const PackedHead<double>& head,
                          const WeightBins* bins, double* scratch) noexcept;

// few_queries.cpp: queries so few that packing keys would take longer than the products.

/// Largest number of queries per head for which attend_keys() pays.
constexpr std::size_t few_queries = 8;

/// Largest number of keys per call of attend_keys(). Fixed, so that results do not depend on how
/// many threads share the keys.
constexpr std::size_t key_part = 1024;

/// Numbers that attend_keys() writes per block: for each query the unscaled output, the shift of
/// its scores and the sum of its exponentials.
constexpr std::size_t partial_count(std::size_t queries, const HeadSizes& sizes) {
  return queries * (sizes.value_width + 2);
}

/// Rows after the last one, which attend_keys() prefetches with the rows before them.
constexpr std::size_t rows_beyond = 16;

/// The keys [first, first + count) of a head as they are stored: their rows, [width] and
/// [value_width] each, and `rows_beyond` more of any.
template <class T>
struct KeyPart {
  std::size_t first, count;
  const T *const *key_rows, *const *value_rows;
};

/// Partial results of a part of the keys for blocks of up to few_queries queries each, which share
/// them. Those of block b begin at partials[b · stride]. Returns whether a value is not finite;
/// such values are left out.
bool attend_keys(std::span<const QueryBlock<float>* const> blocks, const KeyPart<float>& part,
                 float* partials, std::size_t stride) noexcept;
bool attend_keys(std::span<const QueryBlock<double>* const> blocks, const KeyPart<double>& part,
                 double* partials, std::size_t stride) noexcept;

/// The output of a block from the partial results of all parts of its keys, one after the other,
/// which it overwrites, and from the head's values that are not finite.
BlockOutcome merge_partials(const QueryBlock<float>& block, const PackedHead<float>& head,
                            float* partials, std::size_t parts) noexcept;
BlockOutcome merge_partials(const QueryBlock<double>& block, const PackedHead<double>& head,
                            double* partials, std::size_t parts) noexcept;

// small_heads.cpp: one query per lane. A vector along the width of such a head would be half empty.

/// Largest width of keys and of values of a small head.
constexpr std::size_t small_head_width = 16;

/// Sizes of the packed parts and of the scratch, in numbers of T from a multiple of 64 bytes on.
template <class T>
std::size_t small_key_count(const HeadSizes& sizes) noexcept;
template <class T>
std::size_t small_value_count(const HeadSizes& sizes) noexcept;
template <class T>
std::size_t small_scratch_count(const HeadSizes& sizes) noexcept;

void pack_small_head(const HeadSizes& sizes, const float* const* key_rows,
                     const float* const* value_rows, PackedHead<float>& head) noexcept;
void pack_small_head(const HeadSizes& sizes, const double* const* key_rows,
                     const double* const* value_rows, PackedHead<double>& head) noexcept;

/// attend_block() without bins, for a head that pack_small_head() packed.
BlockOutcome attend_small_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                                float* scratch) noexcept;
BlockOutcome attend_small_block(const QueryBlock<double>& block, const PackedHead<double>& head,
                                double* scratch) noexcept;

// split_attention.cpp: matrix tiles (matrix_tile.hpp) on floats split into three bfloat16.

/// Whether matrix tiles are in use and heads of these sizes fill them.
bool splits(const HeadSizes& sizes) noexcept;

/// Sizes of the packed parts and of the scratch in floats; with `whole_rows` for a block whose
/// weights are wanted or replaced.
std::size_t split_key_count(const HeadSizes& sizes) noexcept;
std::size_t split_value_count(const HeadSizes& sizes) noexcept;
std::size_t split_scratch_count(const HeadSizes& sizes, bool whole_rows) noexcept;

/// Packs keys or values of one head as split tiles; two threads may do both at the same time. Keys
/// that are not finite or longer than 2⁶⁰ are unfit.
void pack_split_keys(const HeadSizes& sizes, const float* const* rows,
                     PackedHead<float>& head) noexcept;
void pack_split_values(const HeadSizes& sizes, const float* const* rows,
                       PackedHead<float>& head) noexcept;

/// attend_block() without bins in the precision of float, and its weights, [queries,keys], unless
/// these are null. The block is out of range also if a query sees an unfit key, is not finite or is
/// longer than 2⁶⁰.
BlockOutcome attend_split_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                                float* weights, float* scratch) noexcept;

// rounded_attention.cpp: types of 16 bits.

struct StepRounding {
  enum class Type { bfloat16, float16 };
  Type type = Type::bfloat16;
  /// Whether the exponentials that multiply the values are rounded and nothing before them, in
  /// place of each step; then weights stay floats.
  bool fused = false;
  /// Whether weights stay floats until they are multiplied with the values: biases and sinks are
  /// floats, and so is what they are added to.
  bool wide_weights = false;
};

/// Whether numbers of the type are multiplied in pairs on matrix tiles, for which heads are packed
/// by pack_key_pairs() and pack_value_pairs(), else by pack_head().
bool multiplies_pairs(StepRounding::Type type) noexcept;

/// Sizes of the parts of a head that is packed for pairs, in floats.
std::size_t pair_key_count(const HeadSizes& sizes) noexcept;
std::size_t pair_value_count(const HeadSizes& sizes) noexcept;

/// Packs the keys or the values of one head for pairs: finite numbers of bfloat16.
void pack_key_pairs(const HeadSizes& sizes, const float* const* rows,
                    PackedHead<float>& head) noexcept;
void pack_value_pairs(const HeadSizes& sizes, const float* const* rows,
                      PackedHead<float>& head) noexcept;

/// Scratch of attend_rounded_block() in floats, from a multiple of 64 bytes on: whole rows of
/// scores.
std::size_t rounded_scratch_count(const HeadSizes& sizes) noexcept;

/// The attention of a block whose inputs are finite numbers of the type: sums are made in float and
/// rounded as docs/inside/numerics.md describes. `weights`, [queries,keys], may be null. The block
/// is out of range if scores or sums leave the range of the type.
BlockOutcome attend_rounded_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                                  const StepRounding& rounding, float* weights,
                                  float* scratch) noexcept;

}  // namespace attn::kernels
