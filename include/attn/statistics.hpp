#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A number about one head's weights or scores [Lq,Lk]; head_statistics() has their meanings.
enum class HeadStatistic {
  previous,
  next,
  self,
  first,
  separators,
  entropy,
  entropy_share,
  distance,
  confidence,
  sink,
  previous_score,
  duplicate_score,
  induction_score,
  score_largest,
  score_median,
  score_p99,
  sink_share,
  last = sink_share  ///< the last enumerator
};
inline constexpr std::size_t head_statistic_count =
    static_cast<std::size_t>(HeadStatistic::last) + 1;
/// Number of the statistics that are of weights alone, which come first.
inline constexpr std::size_t weight_statistic_count =
    static_cast<std::size_t>(HeadStatistic::score_largest);

/// Knowledge about a map without which a statistic is undefined.
enum class HeadNeeds { nothing, positions, tokens, tokens_and_positions, scores, sinks };

struct HeadStatisticInfo {
  HeadStatistic statistic;
  std::string_view name, title, meaning;
  bool is_share;  ///< whether values are shares from 0 to 1, as weights are
  HeadNeeds needs = HeadNeeds::nothing;
  std::string_view looks_at = {};  ///< "the previous token"; empty if it is not about such a place
};

/// All statistics, in the order of listings and reports.
std::span<const HeadStatisticInfo> head_statistics() noexcept;

/// Rows and keys that statistics count. Rows without any weight, such as those of padding, never
/// count.
struct HeadCounting {
  bool ignore_special = false;  ///< whether rows of special tokens are left out
  /// Labels of the tokens that are separators; empty = those of the model's tokenizer, or the usual
  /// ones without a model.
  std::vector<std::string> separators;
  double sink_threshold = 0.3;     ///< a larger mean weight on the first key makes a head a sink
  bool without_first_key = false;  ///< whether pattern scores leave out the first key
  bool without_self = false;       ///< whether pattern scores leave out each query's own key
  /// Score of a pattern: the share of all weights that lies on its cells, or one minus the mean
  /// over the rows of the sum of |weight − pattern|.
  enum class Measure { share, difference } measure = Measure::share;
};

/// Combination of the maps of all layers into a rollout (Abnar & Zuidema 2020, section 3).
struct RolloutOptions {
  double residual = 0.5;  ///< share of a layer's own input in its output
  enum class Fusion { mean, max, min } fusion = Fusion::mean;  ///< of the heads of a layer
  double discarded = 0;  ///< share of the smallest fused weights of each row that become zero first
};

/// An analysis of a stack of maps, in addition to the statistics.
enum class HeadAnalysis {
  rollout,
  norms,
  lens,
  distances,
  induction,
  contacts,
  loss,
  gradients,
  last = gradients  ///< the last enumerator
};

struct HeadAnalysisInfo {
  HeadAnalysis analysis;
  std::string_view name, meaning;
  bool needs_model;  ///< whether maps alone do not do
};

/// All analyses, in the order of listings.
std::span<const HeadAnalysisInfo> head_analyses() noexcept;

}  // namespace attn
