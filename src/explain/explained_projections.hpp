#pragma once

#include "attn/layers.hpp"

#include "attention/projected_attention.hpp"
#include "document/plan.hpp"
#include "explain/explained_query.hpp"
#include "explain/explanation.hpp"

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

}  // namespace attn
