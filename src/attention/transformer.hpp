#pragma once

#include "attn/layers.hpp"

#include "attention/geometry.hpp"

namespace attn {

/// The sizes of the self-attention and, for a decoder, of the cross-attention.
struct TransformerGeometry {
  Geometry self, cross;
};

/// Checks the whole stack before anything is computed. Throws Error(input) as transform() does.
TransformerGeometry check_transformer(const TransformerRequest& request);

double activated(double x, Activation activation);

/// A layer's attentions over the hidden states x: to themselves, and to the memory.
ProjectedAttentionRequest self_attention(const TransformerRequest& request,
                                         const TransformerLayer& layer, Tensor x);
ProjectedAttentionRequest cross_attention(const TransformerRequest& request,
                                          const TransformerLayer& layer, Tensor x);

}  // namespace attn
