#pragma once

#include <cstddef>

#include "document/plan.hpp"
#include "explain/explained_query.hpp"
#include "explain/explanation.hpp"

namespace attn {

/// The way of one token through a model: its embedding, what a layer gets, the steps of one head of
/// the layer's attention, what the layer gives, and the likeliest tokens at the end. `attention` is
/// one like it in the plan: of the encoder, of the decoder, or of the decoder over what the encoder
/// gives. Throws Error(input) naming the field if the sample has no such query.
void explain_model(const ModelRequest& request, const PlannedAttention& attention,
                   QueryChoice choice, std::size_t layer, Explanation& explanation);

}  // namespace attn
