#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/batch.hpp"
#include "attn/document.hpp"
#include "attn/maps.hpp"
#include "attn/model.hpp"
#include "attn/plot.hpp"
#include "attn/statistics.hpp"
#include "attn/tensor.hpp"
#include "attn/why.hpp"

namespace attn {

/// Rows and columns of the table of heads, and the form of its comma-separated values.
struct HeadsTable {
  /// Statistic that heads are sorted by, the largest first; absent = by the largest of the shares
  /// that say where a head looks.
  std::optional<HeadStatistic> sort;
  bool by_layer = false;                ///< whether heads stay in the order of layers
  std::optional<std::size_t> top = 20;  ///< number of heads that are listed; absent = all
  std::size_t width = 0;                ///< columns that lines may fill; 0 = as many as there are
  bool wide = false;       ///< whether comma-separated values have a column per statistic
  bool statistics = true;  ///< whether the statistics are a part of the text
};

/// The maps whose heads are read (those of a document, of a model with its texts, or of a file of
/// results or tensors), and the numbers that are wanted.
struct HeadsOptions {
  DocumentOptions document;
  /// Choice of the maps where `document.input` is a file of them. Of its selection the layers alone
  /// have a meaning.
  MapRequest maps;
  std::vector<HeadStatistic> statistics;  ///< empty = all
  HeadCounting counting;
  std::vector<HeadAnalysis> analyses;
  RolloutOptions rollout;
  std::size_t lens_tokens = 5;        ///< number of predicted tokens of the lens at each position
  std::size_t induction_length = 50;  ///< number of random tokens, which are repeated once
  std::size_t induction_samples = 4;  ///< number of such texts
  /// Layers whose heads are switched off one by one, to compare the predictions.
  std::vector<std::size_t> without_heads_of;
  /// Tokens, by their texts or ids or an empty text for the likeliest: of a lens the one whose rank
  /// and probability each layer gives; of a corpus the one whose logit is split; of a patch without
  /// a part of the model, which every part takes in its turn, and of gradients the one whose logit
  /// counts. The logit of `against_logit` is taken away from it. Absent = none; of a patch, the
  /// likeliest after the text, and after the other text; of gradients the likeliest.
  std::optional<std::string> logit, against_logit;
  /// Parts of the model that are patched in their turn where the document names another text and no
  /// part. Empty = heads.
  std::vector<PatchedPart> sweep;
  bool by_position = false;  ///< whether parts of heads are patched position by position
  bool attribution = false;  ///< whether each part also has the effect that gradients estimate
  /// Whether layers above a patched part, or on the way of a path, keep the weights of the text.
  bool frozen_patterns = false;
  /// Steps of integrated gradients, 0 = none; and the token, by its text or id, that stands at all
  /// positions where they begin, absent = they begin with states of zeros.
  std::size_t gradient_steps = 0;
  std::optional<std::string> baseline;
  /// Whether paths are patched: from each head to the logits and to queries, keys and values of
  /// later heads. `receivers`: those where paths end, "logits" or heads such as "3.1"; empty = all.
  bool paths = false;
  std::vector<std::string> receivers;
  /// Folder of tensors, tables and pictures; absent = nothing is written.
  std::optional<std::filesystem::path> out;
  bool plots = false;      ///< whether pictures are drawn into `out`
  std::size_t sample = 0;  ///< shown by pictures of one sample
  PictureFormat format = PictureFormat::png;
  PlotOptions plot;
  HeadsTable table;
  /// Called with the passes of a patch that are finished, and their number.
  std::function<void(std::size_t done, std::size_t all)> progress = {};
};

/// The statistics of one attention: a row for each head, a column for each of head_statistics().
/// NaN where a statistic is undefined. With several samples, the mean over those where it is
/// defined.
struct AttentionHeads {
  std::string name;  ///< "layers.0.self", or "" of a single map
  std::vector<std::vector<double>> heads;
  std::vector<std::size_t> numbers = {};  ///< of the heads, from 0, where some are left out
  bool same_positions = true;             ///< whether queries and keys are the same tokens
  bool tokens_known = true;
  std::vector<std::vector<double>> errors = {};  ///< standard errors of means over texts; else none
  /// Numbers of the queries of one text: of all that count, of those among them that see more than
  /// one key, and of those whose token stands earlier too; 0 if unknown.
  std::size_t counted = 0, queries = 0, repeated = 0;

  /// Number of one of the heads.
  std::size_t number(std::size_t head) const { return numbers.empty() ? head : numbers[head]; }
};

/// The predictions without one head, compared with those of the whole model.
struct HeadDifference {
  std::string layer;  ///< "0", "encoder.0"…
  std::size_t head = 0;
  std::string likeliest, likeliest_without;         ///< tokens at the first predicted position
  double probability = 0, probability_without = 0;  ///< of `likeliest`
  /// Kullback-Leibler of with from without, in nats: mean over what is predicted, the token after
  /// the last one of each text, or of a masked model the tokens at its mask tokens
  double divergence = 0;
};

/// The difference of two logits at the last position, if parts of the model come from another text
/// one at a time.
struct PatchSweep {
  PatchedPart part = PatchedPart::heads;
  /// Whether columns are positions: of each layer, or of each head. Else they are the heads of each
  /// layer.
  bool by_position = false;
  std::vector<std::string> rows;             ///< "0", "decoder.0"… or "0.1"…
  std::vector<std::vector<double>> patched;  ///< the difference by row and column
  /// Standard errors of the effects, where these are means over texts; else empty.
  std::vector<std::vector<double>> errors = {};
  /// The difference to first order, own + (other − own) · gradient; empty if it was not asked for.
  std::vector<std::vector<double>> attributed = {};
};

/// The difference of two logits at the last position, if one path between parts of the model
/// carries what it carries in the other text.
struct HeadPath {
  std::string from, to;  ///< "1.1", and "3.0" or "logits"
  std::string input;     ///< of that head: "query", "key" or "value"; empty of the logits
  double difference = 0;
  std::optional<double> error = {};  ///< standard error of a mean over texts
};

/// Effects of parts of a model on the difference of two logits.
struct HeadPatches {
  std::string token, other;    ///< the logit of the first minus that of the second; empty of means
  double own = 0, source = 0;  ///< the difference in the text, and in the other text
  std::vector<PatchSweep> sweeps;
  std::vector<HeadPath> paths = {};
  std::optional<std::size_t> texts = {};  ///< over which these are means; absent = of one text
};

/// Results of the induction test: a row for each head with the weights on the previous token, on
/// duplicates, and on tokens after duplicates.
struct InductionHeads {
  std::string name;
  std::vector<std::vector<double>> heads;
};

/// Predictions of the logit lens from the states that leave a layer, at one position.
struct LensTokens {
  std::size_t sample = 0, layer = 0, position = 0;
  std::vector<Prediction::Token> likeliest;
};

/// One token as the states at a position would predict it: its logit, or the difference of two
/// logits, its probability, and how many tokens have larger logits.
struct TracedState {
  std::size_t sample = 0, position = 0;
  std::string state;  ///< "embedding", "0.attention" after an attention, "0.residual"
  double logit = 0, probability = 0;
  std::size_t rank = 0;
};
struct TokenTrace {
  std::string token, against;  ///< an empty one: no difference
  std::vector<TracedState> states;
};

/// Gradients of a logit, or of the difference of two, at a position of a text.
struct TextGradients {
  std::size_t sample = 0, position = 0;
  std::string token, against;         ///< an empty one: no difference
  double value = 0;                   ///< the logit, or the difference
  std::vector<AttentionHeads> heads;  ///< of each head Σ weight · gradient by the weight
  std::vector<double> inputs;         ///< of each token Σ embedding · gradient
  std::vector<double> integrated;     ///< integrated gradients of each token; empty = none
  std::string baseline;               ///< the token that those begin with; empty = zeros
  double baseline_value = 0;          ///< of the baseline
  /// Sum of the integrated gradients minus (value − baseline_value).
  double error = 0;
};

/// Shares of parts of the texts in the attention of the tokens that are generated after them.
struct AnswerShareTable {
  std::vector<std::string> attentions;           ///< "layers.0.self"…
  std::vector<std::string> parts;                ///< as in result.json
  std::vector<std::vector<std::string>> tokens;  ///< the generated ones of each sample
  Tensor shares;  ///< [layers,H,tokens,parts]; of several samples [B,layers,H,tokens,parts]
};

struct HeadsOutcome {
  std::string counted;  ///< the rows and keys that the statistics count, in words
  std::vector<HeadStatistic> statistics;
  std::vector<AttentionHeads> attentions;
  std::vector<HeadDifference> differences;
  std::optional<HeadPatches> patches;
  std::vector<InductionHeads> induction;
  std::vector<LensTokens> lens;
  std::optional<TokenTrace> trace;          ///< of a lens and a named token
  std::vector<std::vector<double>> losses;  ///< of each sample's tokens from the second on
  std::vector<TextGradients> gradients;     ///< of each sample
  std::optional<AnswerShareTable> shares;
  std::vector<std::vector<std::string>> tokens;  ///< a list for each sample; empty if unknown
  std::vector<std::string> warnings;
  std::vector<std::filesystem::path> files;
};

/// Reads every head of a stack of maps. Throws Error as run() does.
HeadsOutcome read_heads(const HeadsOptions& options);

/// The statistics as a table to read, after a line that says which heads stand out.
std::string heads_text(const HeadsOutcome& outcome, const HeadsTable& table = {});
/// The outcome as one JSON object.
std::string heads_json(const HeadsOutcome& outcome);
/// The statistics as comma-separated values: a line for each head and statistic, or, if `wide`, for
/// each head.
std::string heads_csv(const HeadsOutcome& outcome, bool wide = false);
/// The tables that `options` ask for, with an empty line between each two: effects of patched parts
/// and of paths, and what is predicted without each head. Without any of them, or if `options` name
/// statistics, heads_csv() stands first.
std::string asked_csv(const HeadsOutcome& outcome, const HeadsOptions& options);

/// A number of two heads whose rows of weights are compared, and what it says.
struct HeadComparisonInfo {
  std::string_view name, title, meaning;
  bool is_share;  ///< whether it lies between 0 and 1
};
inline constexpr std::size_t head_comparison_count = 4;
/// Kullback–Leibler divergence, total variation, largest difference and share of queries with
/// another strongest key, in this order.
std::span<const HeadComparisonInfo> head_comparisons() noexcept;

/// Heads of one input compared with those of another.
struct HeadsAgainst {
  /// Rows of `heads` hold a number for each of head_comparisons(); NaN where no query counts.
  std::vector<AttentionHeads> attentions;
  std::vector<std::string> warnings;
  std::vector<std::filesystem::path> files;
};

/// Compares every head of the input with that of `against`: another model where the input is a
/// model with its texts, else another document or file of maps. Warns of the first token that is
/// another one. Throws Error as read_heads() does, and Error(input) for other numbers of heads or
/// tokens.
HeadsAgainst compare_heads(const HeadsOptions& options, const std::filesystem::path& against);

/// The comparison as a table to read, the most different heads first; as one JSON object; and as
/// comma-separated values with a line for each head.
std::string against_text(const HeadsAgainst& outcome, const HeadsTable& table = {});
std::string against_json(const HeadsAgainst& outcome);
std::string against_csv(const HeadsAgainst& outcome);

/// Statistics over many texts that a model reads, or over many documents.
struct HeadsCorpusOptions {
  HeadsOptions heads;            ///< of each text; its `document` names the model
  std::filesystem::path corpus;  ///< a text on each line, or .jsonl with {"text":…}
  std::filesystem::path out;     ///< folder of the sums, the tables and the pictures
  std::optional<Shard> shard;
  bool resume = false;
  std::size_t kept = 3;    ///< number of texts kept for each head and statistic: the largest values
  std::size_t reach = 32;  ///< largest distance in the maps by relative position, in tokens
  /// Number of first positions whose mean maps are computed, of attentions of a text over itself;
  /// absent = none.
  std::optional<std::size_t> average;
  double seconds_between = 5;  ///< between two times that the sums are saved
};

struct HeadsCorpusOutcome {
  std::size_t texts = 0, failed = 0;  ///< in the sums
  bool interrupted = false;
  std::vector<std::string> warnings;  ///< the first texts that failed, with the reason
  std::vector<std::filesystem::path> files;
  std::string table, json, csv;  ///< of the means; empty for a shard
};

/// Adds up the statistics of all texts of the corpus that belong to the shard. The sums are exact:
/// they do not depend on the distribution of texts over processes. `progress` is called with the
/// number of finished texts and of all texts. No new text is begun while `*stop` is true. Throws
/// Error.
HeadsCorpusOutcome read_corpus(
    const HeadsCorpusOptions& options,
    const std::function<void(std::size_t done, std::size_t all)>& progress = {},
    const std::atomic<bool>* stop = nullptr);

/// Joins the sums of all shards in the folder `out`. The result equals that of a run without shards
/// byte for byte. Throws Error if shards are missing, unfinished, or of other options.
HeadsCorpusOutcome merge_corpus(const HeadsCorpusOptions& options);

}  // namespace attn
