#pragma once

#include <string>
#include <vector>

#include "models/architecture.hpp"
#include "models/checkpoint.hpp"

namespace attn {

/// Holds the weights against the configuration. Throws Error(input) naming the first tensor that is
/// missing, has another shape, is stored in a form that is no number's, or stands in a layer
/// without a place in the model, whose part in it would be left out. Gives the names of those that
/// play no part: other heads, buffers, layers beyond the configuration's.
std::vector<std::string> check_weights(const Architecture& model, const CheckpointWeights& weights);

}  // namespace attn
