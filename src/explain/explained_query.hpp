#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "attn/attention.hpp"
#include "attn/explain.hpp"

#include "attention/head_rows.hpp"
#include "attention/positions.hpp"
#include "attention/visibility.hpp"
#include "document/plan.hpp"
#include "explain/explanation.hpp"

namespace attn {

/// Texts about a choice that does not exist; {1} is the number of choices, {2} the choice.
struct ChoiceTexts {
  const char *field, *one, *many;
};
extern const ChoiceTexts of_samples, of_heads, of_queries, of_layers;

/// Throws Error(input) naming the field of ExplainOptions unless `index` < `count`.
void check_choice(const ChoiceTexts& texts, std::size_t index, std::size_t count);

/// Throws Error(input) for a number of decimals that cannot be shown.
void check_digits(int digits);

/// Position of the query that is asked for by its number or its token among labels; absent labels
/// name none. Throws Error(input) naming the field if no query of `count` has the token.
std::size_t query_of(const ExplainOptions& options, const std::vector<std::string>& labels,
                     std::size_t count);

/// The explained query, with its sample and head, from 0.
struct QueryChoice {
  std::size_t sample = 0, head = 0, query = 0;
  bool full = false;  ///< all keys are shown
};

/// Names of positions for prose and tables, as position_name() has them.
class PositionNames {
 public:
  /// `labels` may be empty; `numbered` is what a position is called without one, "key {1}".
  PositionNames(std::vector<std::string> labels, std::size_t count, const char* numbered);

  /// "\"sat\" (2)", or "key 2" without labels; numbers are aligned then.
  std::string in_table(std::size_t position) const;
  /// "k[2] sat", or "k[2]" without labels.
  std::string in_table(const std::string& vector, std::size_t position) const;
  /// "\"sat\" (2)", or "key 2"
  std::string in_prose(std::size_t position) const;

 private:
  std::vector<std::string> labels_;
  std::size_t count_;
  const char* numbered_;
};

/// One query of one attention: what was given, what was computed of it with all stages, and how to
/// name it.
class ExplainedQuery {
 public:
  /// The request is one that attend() takes, the result its own or, of float32, that of double
  /// precision, in which attend() computes it; the attention is what is known of both.
  ExplainedQuery(const AttentionRequest& request, const AttentionResult& result,
                 const PlannedAttention& attention, QueryChoice choice);

  const AttentionRequest& request() const noexcept { return request_; }
  const AttentionResult& result() const noexcept { return result_; }
  const Geometry& geometry() const noexcept { return attention_.geometry; }
  const Visibility& visibility() const noexcept { return visibility_; }
  const QueryChoice& choice() const noexcept { return choice_; }
  std::size_t keys() const noexcept { return attention_.geometry.keys; }

  const HeadPreparation& preparation() const noexcept { return preparation_; }
  const PositionBias& position_bias() const noexcept { return position_bias_; }

  // Vectors that are compared, after norms and rotation; absent for given scores.
  std::span<const double> query() const;             ///< q [d_q]
  std::span<const double> key(std::size_t j) const;  ///< k[j] [d_k]
  // Before any of these, and the query between norm and rotation.
  std::span<const double> given_query() const;
  std::span<const double> given_key(std::size_t j) const;
  /// The query between its norm and its rotation, whichever comes first.
  std::vector<double> normed_query() const;
  bool has_value() const noexcept { return static_cast<bool>(result_.output); }
  /// A number as results have it: rounded to float32 if that is their type.
  double in_results(double number) const {
    return request_.dtype == DType::float32 ? static_cast<float>(number) : number;
  }
  /// A number as the next step takes it: rounded if the steps have 16 bits.
  double in_step(double number) const;
  /// Whether float32 results have an infinity in the place of this number.
  bool leaves_float32(double number) const {
    return std::isfinite(number) && !std::isfinite(in_results(number));
  }
  std::span<const double> value(std::size_t j) const;  ///< v[j] [d_v]
  std::span<const double> given_scores() const;

  /// This query's row of a tensor [..,Lq,Lk] of the result, as results have it and as the next step
  /// takes it.
  std::vector<double> row(const Tensor& tensor) const;
  std::vector<double> exact_row(const Tensor& tensor) const;
  /// Whether the softcap is behind the biases.
  bool capped_last() const noexcept { return request_.softcap && request_.softcap_after_bias; }
  /// This query's scores before anything is added to them, and with what distances add [Lk].
  std::vector<double> scores_before_biases() const;
  std::vector<double> scores_by_distance() const;
  std::vector<double> bias() const;  ///< of the mask [Lk]
  double lse() const;
  std::vector<double> output() const;  ///< of this head alone, [d_v], after its gate
  /// The cell of this query and a key, as expressions have it.
  ExpressionCell cell(std::size_t j) const;
  std::vector<double> gate() const;  ///< of this head alone, [d_v], or empty

  bool seen(std::size_t j) const;

  const PositionNames& query_names() const noexcept { return query_names_; }
  const PositionNames& key_names() const noexcept { return key_names_; }

  /// The keys that tables show: all of a few, else the first, the last and the heaviest ones.
  const Excerpt& shown_keys() const noexcept { return shown_keys_; }
  Explanation::Column key_column() const;
  /// The shown keys' numbers of a row over all keys.
  Explanation::Column key_numbers(std::string header, std::span<const double> row) const;

 private:
  std::size_t output_at() const;

  const AttentionRequest& request_;
  const AttentionResult& result_;
  QueryChoice choice_;
  const PlannedAttention& attention_;
  HeadPreparation preparation_;
  Sequences compared_;  // prepared queries and keys; absent for given scores
  Visibility visibility_;
  PositionBias position_bias_;
  HeadRows<double> query_, key_, given_query_, given_key_, normed_query_, value_, scores_;
  PositionNames query_names_, key_names_;
  Excerpt shown_keys_;
};

}  // namespace attn
