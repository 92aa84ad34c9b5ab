#pragma once

#include <string>

#include "attention/geometry.hpp"
#include "attn/layers.hpp"

namespace attn {

/// Checks hidden states, parameters, options and mask. `prefix` goes before the names of parameters ("layers.0.self_attn.").
/// Gives the sizes of the attention and, in `output`, the shape of the result.
Geometry check_projected(const ProjectedAttentionRequest& request, const std::string& prefix, Shape& output);

}  // namespace attn
