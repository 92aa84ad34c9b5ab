#pragma once

#include <cstddef>
#include <cstdint>

#include "attn/attention.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// The rows that distances i − j of a query i and a key j have in a table of 2·span rows. The first
/// rows are those of later keys; distances that are too large share the first or the last row.
struct DistanceRows {
  std::size_t span = 0;
  /// Distances up to buckets/2 have rows of their own, and behind them rows widen logarithmically
  /// up to `max_distance`, as in DeBERTa-v2; 0 = every distance has one. Not 1.
  std::size_t buckets = 0, max_distance = 0;

  std::size_t row(std::int64_t distance) const;
};

/// Terms of a score between contents and positions (He et al. 2021, section 3.1): what the row of a
/// distance has in the place of a key and of a query.
struct DisentangledTerms {
  DistanceRows distances;
  Tensor keys, queries;  ///< [2·span,H·d]; absent = no such term
};

/// The sum of the terms for the scores [B,H,Lq,Lk] of a scaled dot product with as many key heads
/// as query heads: scale · (q_i · keys[δ] + k_j · queries[δ]), δ being the row of i − j. Computed
/// in double precision; of the queries' type.
Tensor disentangled_bias(const DisentangledTerms& terms, const AttentionRequest& request);

}  // namespace attn
