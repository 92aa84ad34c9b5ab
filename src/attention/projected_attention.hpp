#pragma once

#include <string>

#include "attn/layers.hpp"

#include "attention/geometry.hpp"

namespace attn {

/// Checks hidden states, parameters, options and mask. `prefix` goes before the names of parameters
/// ("layers.0.self_attn."). Gives the sizes of the attention and, in `output`, the shape of the
/// result.
Geometry check_projected(const ProjectedAttentionRequest& request, const std::string& prefix,
                         Shape& output);

/// The attention over the projected queries, keys and values, in double precision: what is left to
/// do before the output projection. The request must have been checked.
AttentionRequest project(const ProjectedAttentionRequest& request);

}  // namespace attn
