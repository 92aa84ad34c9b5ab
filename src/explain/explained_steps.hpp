#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attn/attention.hpp"
#include "attn/explain.hpp"
#include "attn/statistics.hpp"

#include "attention/linear.hpp"
#include "document/document.hpp"
#include "document/plan.hpp"
#include "explain/explained_query.hpp"
#include "explain/explanation.hpp"
#include "maps/filed_maps.hpp"

namespace attn {

/// Shows rows `first` to `first + y.size()` of y = x Wᵀ + b, a few of them term by term, as
/// "name[0]  x[0]·W[first,0] + … + b = y[0]".
void explain_linear(const StoredLinear& linear, std::span<const double> x, std::size_t first,
                    std::span<const double> y, const std::string& name, Explanation& explanation);

/// Shows the steps of y = norm(x) for one row.
void explain_norm(const Norm& norm, double eps, std::span<const double> x,
                  std::span<const double> y, Explanation& explanation);

/// Shows named vectors of one width.
void show_vectors(std::vector<Explanation::Vectors::Row> rows, Explanation& explanation);
Explanation::Vectors::Row named_vector(std::string name, std::span<const double> values);

/// Steps from the tokens of the query and the keys to their hidden states. Nothing where
/// the plan has no tokens.
void explain_embedding(const Plan& plan, QueryChoice choice, Explanation& explanation);

/// The steps from a head's query and keys to those that are compared: their norms, and the angles
/// that each pair of columns is turned by. None where nothing is done to them.
void explain_preparation(const ExplainedQuery& query, Explanation& explanation);

/// The step that adds to the scores by the distance of a key: ALiBi, and the bias of its bucket.
void explain_position_bias(const ExplainedQuery& query, Explanation& explanation);

/// The steps from the query and the keys to the scores: the products of its kind term by term,
/// scale, expression.
void explain_scores(const ExplainedQuery& query, Explanation& explanation);

/// The step of the softcap, before what distances and biases add or behind it; none without one.
void explain_softcap(const ExplainedQuery& query, Explanation& explanation);

/// The step that adds the bias, unless a softcap behind it did, and names what hides each key; none
/// where neither happens.
void explain_mask(const ExplainedQuery& query, Explanation& explanation);

/// The steps from the masked scores to the output: softmax, dropout, the weighted sum of the
/// values.
void explain_weights(const ExplainedQuery& query, Explanation& explanation);

/// The last step: multiplications and bytes of the whole computation with numbers of that type,
/// each with its formula and the sizes put in, and how they grow.
void explain_cost(const Plan& plan, DType dtype, Explanation& explanation);

/// Analyses of a whole model at one position of a sample, in words: from where its state
/// comes by rollout and by norms, and what each layer would say there. `labels` are the sample's
/// tokens. Throws Error(usage) for other analyses and for a model with an encoder and a decoder,
/// Error(input) for a lens without a head.
void explain_analyses(const ModelRequest& request, const std::vector<std::string>& labels,
                      QueryChoice choice, const std::vector<HeadAnalysis>& analyses,
                      Explanation& explanation);

/// A query's row of a map of weights that somebody computed.
struct MapRow {
  std::size_t query = 0;
  std::vector<double> weights;        ///< [Lk]
  std::vector<std::uint8_t> allowed;  ///< [Lk], 0 = a mask hides the key; empty = not known
  bool same_positions = false;        ///< queries and keys are the same tokens
  PositionNames query_names, key_names;
};

/// The steps that a row alone allows: the weights and their sum, the largest in order, the weights
/// of the query's own position and of its neighbours, how spread the weights are (the Shannon
/// entropy in nats), and what is hidden.
void explain_row(const MapRow& row, Explanation& explanation);

/// Explains the row of the chosen query in each layer and head that is chosen. Throws Error as
/// explain() does.
ExplainOutcome explained_maps(const ExplainOptions& options, const MapFiles& files);

/// Explains by splits, in place of a walk through the computation, why a head of a model's plan
/// looks where it looks, and why the model expects the next token. Throws Error(usage) for a plan
/// without a model, and as split() does.
ExplainOutcome explain_why(const ExplainOptions& options, const Document& document,
                           const Plan& plan);

}  // namespace attn
