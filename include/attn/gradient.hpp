#pragma once

#include <string>
#include <utility>
#include <vector>

#include "attn/attention.hpp"
#include "attn/layers.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// Derivatives by the name of what they are taken by, each of its shape.
using Gradients = std::vector<std::pair<std::string, Tensor>>;

/// The derivatives of L = Σ output · output_gradient by all that the attention computes from, as
/// far as it is given: query, key, value, past_key, past_value, the score's parameters by the names
/// of its kind's row, bias (the mask's), relative_bias (its table) and sinks. A tensor that is used
/// several times has the sum: the query is the key where that is absent, the key the value; so have
/// repeated samples, shared heads and broadcast axes. Hidden scores pass nothing back, weights that
/// dropout drops only through the sum of their row. Dropout is drawn anew, and has to draw the
/// same.
///
/// Computed in double precision whatever the dtype, which they are rounded to at the end. Throws
/// Error(input) as attend() does, if the gradient has not the output's shape, and for norms of
/// queries and keys and given scores, where no gradients are offered.
Gradients gradients(const AttentionRequest& request, const Tensor& output_gradient);

/// The same of hidden states and projections: "W_q.weight", "W_q.bias"…
Gradients gradients(const ProjectedAttentionRequest& request, const Tensor& output_gradient);

/// Throws what gradients() would, before anything is computed.
void check_gradients(const AttentionRequest& request, const Tensor& output_gradient);
void check_gradients(const ProjectedAttentionRequest& request, const Tensor& output_gradient);

}  // namespace attn
