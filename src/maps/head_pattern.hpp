#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/plot.hpp"
#include "attn/statistics.hpp"

#include "statistics/head_values.hpp"

namespace attn {

/// Tokens that are known by their labels alone.
MapTokens labelled_tokens(const std::vector<std::string>& labels, const HeadCounting& counting);

/// A place that a head looks at, and the share of its weight there.
struct HeadPattern {
  HeadStatistic statistic = HeadStatistic::first;
  double share = 0;
  double chance = 0;  ///< of even weights over the keys that each query sees

  double excess() const { return share - chance; }
};

/// The weights that the map would have if each query's were even over the keys that it sees.
Tensor even_weights(const Heatmap& map);

/// Share of a map's weight at the place of one statistic, and by chance. Absent where the statistic
/// has no meaning for the map.
std::optional<HeadPattern> pattern_of(const Heatmap& map, HeadStatistic statistic);

/// The place whose share exceeds chance most, of those that HeadStatisticInfo::looks_at names.
/// Absent where none has a meaning.
std::optional<HeadPattern> strongest_pattern(const Heatmap& map);

}  // namespace attn
