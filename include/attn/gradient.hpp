#pragma once

#include <string>
#include <utility>
#include <vector>

#include "attn/attention.hpp"
#include "attn/layers.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// Derivatives with the names of the tensors they belong to, each of that tensor's shape.
using Gradients = std::vector<std::pair<std::string, Tensor>>;

/// Derivatives of L = Σ output · output_gradient by every given input: query, key, value, past_key,
/// past_value, the score's parameters by the names of its kind's row, bias (of the mask),
/// relative_bias (its table), sinks and gate. A tensor with several uses has the sum of their
/// derivatives: an absent key is the query, an absent value the key; samples may be repeated, heads
/// shared, axes broadcast. Hidden scores have derivative 0; dropped weights count only in the sum
/// of their row. Dropout is drawn anew and has to draw the same weights.
///
/// The computation is in double precision, rounded to the request's dtype, float32 or float64, at
/// the end. Throws Error(input) as attend() does, if output_gradient does not have the output's
/// shape, and for norms of queries and keys and for given scores, which have no gradients.
Gradients gradients(const AttentionRequest& request, const Tensor& output_gradient);

/// Derivatives by hidden states and projections: also "W_q.weight", "W_q.bias"…
Gradients gradients(const ProjectedAttentionRequest& request, const Tensor& output_gradient);

/// Throws the errors of gradients() without computing anything.
void check_gradients(const AttentionRequest& request, const Tensor& output_gradient);
void check_gradients(const ProjectedAttentionRequest& request, const Tensor& output_gradient);

}  // namespace attn
