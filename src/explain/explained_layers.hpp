#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/explain.hpp"
#include "attn/layers.hpp"

#include "attention/projected_attention.hpp"
#include "document/plan.hpp"
#include "explain/explained_query.hpp"
#include "explain/explanation.hpp"
#include "layers/layer.hpp"
#include "models/model_place.hpp"

namespace attn {

/// An attention over hidden states as it was computed with stages.
struct AttendedStates {
  const AttentionWeights& weights;
  Tensor states;             ///< [L,D] or [B,L,D], from which queries are projected
  AttentionRequest request;  ///< the attention over projected queries, keys and values
  AttentionResult result;    ///< of that request
  Tensor joined;  ///< float64 [..,L,H·d]: its output, with zeros for heads that are switched off
  Tensor output;  ///< float64 [..,L,out], after the output projection; absent without one
};

/// Shows the steps of an attention over hidden states: projections of the query, keys and values,
/// the attention itself, the heads joined, the output projection.
void explain_projected(const AttendedStates& attended, const PlannedAttention& attention,
                       QueryChoice choice, Explanation& explanation);

/// Shows the steps of an attention without projections.
void explain_attention(const ExplainedQuery& query, Explanation& explanation);

/// One layer as it was computed with StepOptions::inside.
struct ExplainedLayer {
  const Layer& layer;
  const LayerStep& step;
  std::span<const PlannedAttention>
      attentions;            ///< the layer's own: self, and cross if there is one
  std::string name = {};     ///< "Layer 3", before the titles of its parts; empty for an only layer
  bool of_document = false;  ///< parameters have the names of a document
  /// Whether the steps of the self-attention and of the cross-attention are shown.
  bool self = true, cross = true;
};

/// Shows the steps of one layer for the chosen query, sub-layer by sub-layer.
void explain_layer(const ExplainedLayer& explained, QueryChoice choice, Explanation& explanation);

/// Shows the chosen query's state before the first layer and after each. `states` holds these
/// states
/// [..,L,D]; `layer` is the one that was walked through.
void explain_all_layers(std::span<const Tensor> states, QueryChoice choice, std::size_t layer,
                        Explanation& explanation);

/// The layers of a document, computed in float64.
class ExplainedTransformer {
 public:
  /// Computes all layers and keeps what is inside `layer`. The request asks for stages.
  ExplainedTransformer(const TransformerRequest& request, std::size_t layer);

  /// `attentions` are those of all layers.
  void explain(std::span<const PlannedAttention> attentions, QueryChoice choice,
               Explanation& explanation) const;

 private:
  std::size_t number_;
  Layer layer_;
  LayerStep step_;
  std::vector<Tensor> states_;  // before the first layer and after each
  Tensor output_;               // after the norm that follows the last layer; absent without one
};

/// The attention of a model that ExplainOptions::stack and layer name, by default of the first
/// layer with a map; absent if the model has no such stack.
std::optional<ModelPlace> named_attention(const ExplainOptions& options, const Architecture& model);

/// Shows the way of one token through a model: its embedding, the steps of one attention and its
/// layer, the state after each layer, and the likeliest tokens at the end. `labels` are those of
/// the attention's stack. Throws Error(input) naming the field if the sample has no such query.
void explain_model(const ModelRequest& request, const Labels& labels, QueryChoice choice,
                   const ModelPlace& attention, Explanation& explanation);

}  // namespace attn
