#pragma once

#include <string>

#include "attn/layers.hpp"

#include "attention/geometry.hpp"

namespace attn {

/// All tensors of the result but `allowed` in that type.
void round_to(DType dtype, AttentionResult& result);

/// [B,P,G·d] as [B,G,P,d], and [P,G·d] as [G,P,d]: how a past may be given.
Tensor heads_apart(const Tensor& past, const Shape& shape);

/// Checks hidden states, parameters, options and mask. `prefix` goes before the names of parameters
/// ("layers.0.self_attn."). Gives the sizes of the attention and, in `output`, the shape of the
/// result.
Geometry check_projected(const ProjectedAttentionRequest& request, const std::string& prefix,
                         Shape& output);

/// The attention over the projected queries, keys and values, in that precision: what is left to do
/// before the output projection. The request must have been checked.
AttentionRequest project(const ProjectedAttentionRequest& request,
                         DType precision = DType::float64);

/// Whether so many multiply-adds of Linear layers for results of float32 are made in single
/// precision: where speed matters more than the last digits and no step is to be shown.
bool single_precision_pays(const AttentionOptions& attention, double multiply_adds);

}  // namespace attn
