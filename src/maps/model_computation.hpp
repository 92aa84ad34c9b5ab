#pragma once

#include "maps/computed_maps.hpp"

namespace attn {

/// The likeliest tokens by the logits [..,V] of one position.
Prediction prediction_of(std::size_t position, const Tensor& logits, const ModelFolder& folder);

/// Reads the texts of a plan whose computation is `request` with its model.
Computed compute_model(const Plan& plan, const ModelRequest& request, const TakeComputed& take);

}  // namespace attn
