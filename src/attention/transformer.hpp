#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/layers.hpp"

#include "attention/finish.hpp"
#include "attention/geometry.hpp"

namespace attn {

/// The sizes of a layer's self-attention and, in a decoder, of its cross-attention.
struct LayerGeometry {
  Geometry self, cross;
};

/// Checks the whole stack before anything is computed. Gives the sizes of each layer. Throws
/// Error(input) as transform() does.
std::vector<LayerGeometry> check_transformer(const TransformerRequest& request);

/// The function of an activation; that of a gated one is applied to linear1 alone.
ActivationCurve curve_of(Activation activation);

/// A layer's attentions over the hidden states x: to themselves, and to the memory.
ProjectedAttentionRequest self_attention(const TransformerRequest& request,
                                         const TransformerLayer& layer, Tensor x);
ProjectedAttentionRequest cross_attention(const TransformerRequest& request,
                                          const TransformerLayer& layer, Tensor x);

}  // namespace attn
