#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "attn/attention.hpp"

namespace attn {

/// Numbers of the scores of one head, over the pairs that its mask lets see; NaN without a
/// pair, and where a score is infinite or NaN.
struct ScoreValues {
  double largest = std::numeric_limits<double>::quiet_NaN();
  /// The 0.5 and 0.99 quantiles, between two scores in proportion (Hyndman & Fan 1996, type 7).
  double median = largest, high = largest;
};

/// Scores of a request of scaled dot products of one sample without a past, whose mask is causality
/// and window: products times the scale, before softcap and terms of positions. One for each head.
/// Rows with a 1 in `left_out` [Lq] do not count; empty = all do. Exact, in memory of 2²² scores a
/// thread at most.
std::vector<ScoreValues> score_values(const AttentionRequest& request,
                                      const std::vector<std::uint8_t>& left_out);

}  // namespace attn
