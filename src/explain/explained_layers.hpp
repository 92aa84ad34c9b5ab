#pragma once

#include <cstddef>

#include "attn/layers.hpp"

#include "document/document.hpp"
#include "explain/explained_query.hpp"
#include "explain/explanation.hpp"

namespace attn {

/// The steps of one layer of a transformer, sub-layer by sub-layer, and in a line each what the
/// others make of the query's hidden state. `result` is that of transform() in float64 with stages.
void explain_layers(const TransformerRequest& request, const TransformerResult& result,
                    const Labels& labels, QueryChoice choice, std::size_t layer,
                    Explanation& explanation);

}  // namespace attn
