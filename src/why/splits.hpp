#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/tensor.hpp"

#include "models/model_place.hpp"
#include "models/pass.hpp"
#include "why/frozen_pass.hpp"

namespace attn {

/// Scores of one head, before softcap, bias and mask, as sums over what the layers before wrote
/// for the query and for the key. With the denominators of all norms as they are, query and key are
/// linear in the parts of the residual stream: score(i,j) = Σ_a Σ_b scale · q_i^a · k_j^b.
struct ScoreSplit {
  ModelPlace head;
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  ///< query and key, row by row
  /// Where the parts were written: terms of the embedding, heads, feed-forwards, biases, and the
  /// encoder's output.
  std::vector<ModelPlace> query_parts, key_parts;
  Tensor parts;                         ///< float64 [pairs,A,B]
  std::vector<double> scores, weights;  ///< of the pairs
  /// Positions of the text whose parts are known, in order, and for each part that a head wrote the
  /// token that the head gives most weight at each of them; nothing for other parts.
  std::vector<std::size_t> positions;
  std::vector<std::vector<std::size_t>> strongest;  ///< as query_parts

  /// The pair whose weight is largest, of queries that see more than one key if there are any; of
  /// one query if it is given, which must be among the pairs.
  std::size_t strongest_pair(std::optional<std::size_t> query = {}) const;
  /// The token that the head which wrote a part gave most weight at a position; nothing for other
  /// parts.
  std::optional<std::size_t> looked_at(std::size_t part, std::size_t position) const;
  /// Sums [A] of a pair over all parts of the key, and [B] over all of the query.
  struct Sides {
    std::vector<double> query, key;
  };
  Sides sides(std::size_t pair) const;
};

/// The logit of a token at one position, before its cap, or of a class, as a sum over the parts of
/// the residual stream, and the sum of each head over the tokens that it reads. What a head reads
/// at several positions is added up.
struct LogitSplit {
  std::size_t position = 0;          ///< of several the first
  std::size_t token = 0;             ///< or the number of the class
  std::optional<std::string> label;  ///< of the class; absent = a token's
  /// The other token or class of a difference of two logits, which is split then; absent = none.
  std::optional<std::size_t> against;
  std::optional<std::string> against_label;
  double logit = 0;                            ///< or the difference
  std::vector<ModelPlace> places;              ///< where the parts were written
  Tensor parts;                                ///< float64 [P]
  std::vector<ModelPlace> heads, cross_heads;  ///< of the rows of the following
  Tensor tokens;                               ///< float64 [heads,Lk]
  Tensor cross_tokens;  ///< float64 [cross heads,Lk] of an encoder-decoder; else absent
  /// What a unit of each number of a head's weighted values [dv] adds to the logit: row h of
  /// `tokens` is the products of these with the values, by their weights.
  std::vector<std::vector<double>> directions;
};

/// The places of numbers in the order of their sizes, the largest first.
std::vector<std::size_t> by_size(std::span<const double> numbers);

/// The splits that a choice asks for.
struct WhySplits {
  std::optional<ScoreSplit> scores;
  std::optional<LogitSplit> logit;
};

/// The logits that are split, and what their head reads of a text of one sample.
struct ChosenLogit {
  LogitsHead head;
  std::vector<std::pair<std::size_t, double>> read;  ///< positions and the shares of their states
  bool averaged = false;            ///< the shares are of the logits of each position
  std::vector<std::string> labels;  ///< of classes; empty = the logits are of tokens

  /// Those of the classifier or else of tokens. `query`: the position, where each has logits;
  /// absent = the last one. Throws Error(input) if the file has no head.
  ChosenLogit(const Architecture& model, const CheckpointWeights& weights, const ModelTexts& text,
              std::optional<std::size_t> query);

  /// Choice of what a pass keeps for them.
  FrozenChoice kept(const Architecture& model) const;
};

/// The logit that is split: that of a token or class, absent = the likeliest one, less that of
/// another one, absent = no other. Both must be there.
struct LogitTerms {
  std::optional<std::size_t> token = {}, against = {};
};

/// Splits the logit in the pass that kept what it needs. Denominators of norms and the ratios
/// f(x)/x of a function in the head stay as they are. Throws Error(internal) if the parts do not
/// add up to the logit that the model's own head computes.
LogitSplit split_logit(const Architecture& model, const ChosenLogit& chosen, const FrozenPass& pass,
                       const LogitTerms& terms, std::size_t threads);

/// Row of a pass's positions, and the token whose logit there is split.
struct LogitRow {
  std::size_t row = 0, token = 0;
};

/// Splits logits of tokens that `head` gives at positions of one pass. Throws as split_logit().
std::vector<LogitSplit> split_logits(const Architecture& model, const LogitsHead& head,
                                     const FrozenPass& pass, std::span<const LogitRow> rows,
                                     std::size_t threads);

/// The scores of a head that are split: those of one query or key of a text, or of all that see
/// each other; all of them must be there.
struct ChosenScores {
  ModelPlace head;
  std::vector<std::size_t> queries, keys;

  ChosenScores(ModelPlace head, const ModelTexts& text, std::optional<std::size_t> query,
               std::optional<std::size_t> key);

  /// Choice of what a pass keeps for them.
  FrozenChoice kept() const;
};

/// Splits the scores in the pass that kept what they need. Throws Error(input) if there is no room
/// for the parts, Error(internal) if they do not add up to the scores that the model's own
/// attention computes.
ScoreSplit split_scores(const FrozenPass& pass, const ChosenScores& chosen, std::size_t threads);

/// Rows of the residual stream as sums of what was written into it: row i is the sum of row i of
/// all parts.
struct ResidualParts {
  std::vector<ModelPlace> places;  ///< where each was written
  std::vector<Rows> parts;         ///< [count,D] each; the last is the bias

  Rows& bias() { return parts.back(); }
};

/// The rows `first` … `first + count` − 1 of a pass's positions, where its attention reads them, or
/// after the last layer that it kept. Each norm on the way counts once.
ResidualParts parts_of(const FrozenPass& pass, std::size_t first, std::size_t count,
                       std::size_t threads);

/// Every part of those rows through a norm, whose shift goes to the bias.
void apply(const FrozenNorm& norm, std::size_t first, ResidualParts& parts, std::size_t threads);

/// Throws Error(internal) with the figures if terms of a split of `whole` do not add up. Tolerance:
/// 10⁻¹² · (Σ|terms| + size), size = Σ|products| of whole. `what` names the number in the error.
void check_sum(std::span<const double> terms, double whole, double size,
               const std::function<std::string()>& what);

}  // namespace attn
