#pragma once

#include "attn/layers.hpp"

#include "document/plan.hpp"
#include "explain/explained_query.hpp"
#include "explain/explanation.hpp"

namespace attn {

/// The steps of an attention over hidden states: projections of the query, keys and values, the
/// attention itself, the heads joined, the output projection. `result` is that of
/// attend_projected() in float64 with stages.
void explain_projected(const ProjectedAttentionRequest& request, const AttentionResult& result,
                       const PlannedAttention& attention, QueryChoice choice,
                       Explanation& explanation);

/// The steps of an attention without projections.
void explain_attention(const ExplainedQuery& query, Explanation& explanation);

}  // namespace attn
