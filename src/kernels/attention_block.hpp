#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace attn::kernels {

/// Most queries that one call of an attention kernel takes: whole strips of 12 or 6.
constexpr std::size_t query_block = 132;

/// Terms of a mask by distance that may be read beyond those of any query and key.
constexpr std::size_t distance_margin = 64;

/// The sizes of one head: [queries, width] against [keys, width] and [keys, value_width].
struct HeadSizes {
  std::size_t keys, width, value_width;
};

/// What a mask leaves of one block of queries. Query i of the block sees keys first[i] … end[i] −
/// 1; `added`, if there is one, tells what is added to its scores of `count` keys from first_key
/// on: −∞ hides a key whatever its score is.
template <class T>
struct BlockMask {
  const std::uint32_t *first, *end;
  void (*added)(const void* context, std::size_t query, std::size_t first_key, std::size_t count,
                T* row) noexcept;
  const void* context;
  /// Null, or what the distance of a key from a query adds: terms[j − i] to the score of key j and
  /// query i of the block. They are finite, and there are distance_margin more on either side.
  const T* terms = nullptr;
};

/// Up to query_block queries of one query head. T is float or double, strides count numbers of that
/// type between rows.
template <class T>
struct QueryBlock {
  HeadSizes sizes;
  const T* query;
  std::size_t query_stride, queries;
  double scale;
  double softcap;  ///< 0 = none
  BlockMask<T> mask;
  T* output;  ///< null = only weights are wanted
  std::size_t output_stride;
  /// Weights up to this one are 0 in the type of the result, which may be narrower than T.
  double vanishing;
  /// One more score in the sum of each row's exponentials, which the scale does not touch; −∞ =
  /// none.
  double sink = -std::numeric_limits<double>::infinity();
};

/// What the caller should know of the rows of a block.
struct BlockOutcome {
  std::size_t empty_rows = 0;  ///< that see no key: their weights and output are zeros
  /// Whether a sum of exponentials, or of values that are finite, is not finite. Weights and output
  /// are then to be computed in another way; an output without weights is right if the inputs are
  /// not finite.
  bool overflow = false;
  /// Whether finite inputs are so large that a score or a sum may leave the type's range, or that
  /// scores keep too few of its digits. All is then to be computed in a wider type.
  bool out_of_range = false;
};

}  // namespace attn::kernels
