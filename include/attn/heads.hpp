#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/batch.hpp"
#include "attn/error.hpp"
#include "attn/run.hpp"

namespace attn {

/// What is told of each head of a stack of maps.
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
  last = induction_score  ///< of all
};
inline constexpr std::size_t head_statistic_count =
    static_cast<std::size_t>(HeadStatistic::last) + 1;

struct HeadStatisticInfo {
  HeadStatistic statistic;
  std::string_view name, title, meaning;
};

/// All of them, in the order they are listed to users.
std::span<const HeadStatisticInfo> head_statistics() noexcept;

/// What counts in the statistics. Rows without any weight, as those of padding, never do.
struct HeadCounting {
  bool ignore_special = false;  ///< whether rows of special tokens are left out
  /// Tokens, as labels have them, that separate; empty = those that the model's tokenizer has, or
  /// of other inputs the usual ones.
  std::vector<std::string> separators;
  double sink_threshold = 0.3;  ///< a head is a sink if its mean weight on the first key is larger
  /// Of the scores of patterns: whether they leave out the first key, and a query's own.
  bool without_first_key = false, without_self = false;
  /// How patterns are scored: by the share of the weights that lies on them, or by one minus the
  /// mean, over the rows, of the sum of differences between weights and pattern.
  enum class Measure { share, difference } measure = Measure::share;
};

/// How maps of layers are joined to a rollout (Abnar & Zuidema 2020, section 3).
struct RolloutOptions {
  double residual = 0.5;  ///< share of a layer's own input in its output
  enum class Fusion { mean, max, min } fusion = Fusion::mean;  ///< of the heads of a layer
  /// Share of the smallest fused weights of each row that is set to zero first.
  double discarded = 0;
};

/// What can be computed of a stack of maps beside the statistics. The norms and the lens take a
/// model.
enum class HeadAnalysis {
  rollout,
  norms,
  lens,
  distances,
  induction,
  last = induction  ///< of all
};

struct HeadAnalysisInfo {
  HeadAnalysis analysis;
  std::string_view name, meaning;
};

/// All of them, in the order they are listed to users.
std::span<const HeadAnalysisInfo> head_analyses() noexcept;

/// What to read: a document, a model and its texts, or a result or file of tensors with maps.
struct HeadsOptions {
  DocumentOptions document;
  std::vector<HeadStatistic> statistics;  ///< to be told; empty = all
  HeadCounting counting;
  std::vector<HeadAnalysis> analyses;
  RolloutOptions rollout;
  std::size_t lens_tokens = 5;        ///< the likeliest tokens that the lens tells at a position
  std::size_t induction_length = 50;  ///< random tokens that are repeated once
  std::size_t induction_samples = 4;  ///< such texts
  /// Layers whose heads are left out one by one, to see what becomes of the predictions.
  std::vector<std::size_t> without_heads_of;
  /// Where tensors, tables and pictures are written; absent = nowhere.
  std::optional<std::filesystem::path> out;
  bool plots = false;      ///< whether pictures are written there
  std::size_t sample = 0;  ///< that pictures of one show
  PictureFormat format = PictureFormat::png;
  PlotOptions plot;
};

/// The statistics of one attention: rows are heads, columns those of head_statistics(); NaN where
/// one has no meaning. Of several samples the mean of those where it has one.
struct AttentionHeads {
  std::string name;  ///< "layers.0.self", or "" of a single map
  std::vector<std::vector<double>> heads;
};

/// What becomes of the predictions without a head.
struct HeadDifference {
  std::string layer;  ///< "0", "encoder.0"…
  std::size_t head = 0;
  std::string likeliest, likeliest_without;         ///< tokens at the first predicted position
  double probability = 0, probability_without = 0;  ///< of what was likeliest with the head
  double divergence = 0;  ///< Kullback-Leibler, with from without, in nats: mean over positions
};

/// Statistics of the induction test: a line a head, of previous, duplicate and induction weight.
struct InductionHeads {
  std::string name;
  std::vector<std::vector<double>> heads;
};

/// A prediction of the lens: what the state that leaves a layer would say at a position.
struct LensTokens {
  std::size_t sample = 0, layer = 0, position = 0;
  std::vector<Prediction::Token> likeliest;
};

struct HeadsOutcome {
  std::string counted;  ///< what rows and keys the statistics count, in words
  std::vector<HeadStatistic> statistics;
  std::vector<AttentionHeads> attentions;
  std::vector<HeadDifference> differences;
  std::vector<InductionHeads> induction;
  std::vector<LensTokens> lens;
  std::vector<std::vector<std::string>> tokens;  ///< one list a sample; empty if not known
  std::vector<std::string> warnings;
  std::vector<std::filesystem::path> files;
};

/// Reads every head of a stack of maps. Throws Error as run() does.
HeadsOutcome read_heads(const HeadsOptions& options);

/// The table to read; the same as one JSON object; the same as comma-separated values, a line a
/// head.
std::string heads_text(const HeadsOutcome& outcome);
std::string heads_json(const HeadsOutcome& outcome);
std::string heads_csv(const HeadsOutcome& outcome);

/// Statistics over many texts that a model reads, or over many documents.
struct HeadsCorpusOptions {
  HeadsOptions heads;            ///< of each text; its `document` names the model
  std::filesystem::path corpus;  ///< a text a line, or .jsonl with {"text":…}
  std::filesystem::path out;     ///< folder of the sums, the tables and the pictures
  std::optional<Shard> shard;
  bool resume = false;
  std::size_t kept = 3;    ///< texts that are kept for each head and statistic: where it is most
  std::size_t reach = 32;  ///< of the maps by relative position: so far before and after a query
  double seconds_between = 5;  ///< that the sums are in memory only
};

struct HeadsCorpusOutcome {
  std::size_t texts = 0, failed = 0;  ///< in the sums
  bool interrupted = false;
  std::vector<std::string> warnings;  ///< the first texts that failed, and why
  std::vector<std::filesystem::path> files;
  std::string table;  ///< to read; empty of a shard
};

/// Adds up the statistics of all texts of the corpus that belong to the shard. The sums are exact,
/// so that they are the same however the texts are shared among processes. `progress` is told how
/// many of how many texts are done. While `*stop` is true no new text is begun. Throws Error.
HeadsCorpusOutcome read_corpus(
    const HeadsCorpusOptions& options,
    const std::function<void(std::size_t done, std::size_t all)>& progress = {},
    const std::atomic<bool>* stop = nullptr);

/// Joins the sums of all shards in the folder `out`, byte for byte to those of a run without
/// shards. Throws Error if some are missing, not finished, or of other options.
HeadsCorpusOutcome merge_corpus(const HeadsCorpusOptions& options);

}  // namespace attn
