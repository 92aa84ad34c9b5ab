#pragma once

#include <cstddef>
#include <span>

#include "attn/layers.hpp"

#include "document/plan.hpp"
#include "explain/explained_query.hpp"
#include "explain/explanation.hpp"

namespace attn {

/// The steps of one layer of a transformer, sub-layer by sub-layer, and in a line each what the
/// others make of the query's hidden state. `attentions` are those of all layers, `result` is that
/// of transform() in float64 with stages.
void explain_layers(const TransformerRequest& request, const TransformerResult& result,
                    std::span<const PlannedAttention> attentions, QueryChoice choice,
                    std::size_t layer, Explanation& explanation);

}  // namespace attn
