#pragma once

#include "attn/gradient.hpp"

namespace attn {

/// gradients() of a request that was checked.
Gradients gradients_of(const AttentionRequest& request, const Tensor& output_gradient);

}  // namespace attn
