#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/layers.hpp"

#include "attention/geometry.hpp"
#include "layers/layer.hpp"

namespace attn {

/// The sizes of a layer's self-attention and, in a decoder, of its cross-attention.
struct LayerGeometry {
  Geometry self, cross;
};

/// Checks the whole stack before anything is computed. Returns the sizes of each layer. Throws
/// Error(input) as transform() does.
std::vector<LayerGeometry> check_transformer(const TransformerRequest& request);

/// The request of an encoder, which a request has: its layers and mask over the memory.
TransformerRequest encoder_of(const TransformerRequest& request);

/// Text before the names of layer `at`: "" of a single one, `layers.1.`, "encoder.layers.1.".
std::string layer_prefix_of(const TransformerRequest& request, std::size_t at);

/// Layer `at` of a request whose stack is sound, as step() takes it.
Layer layer_of(const TransformerRequest& request, std::size_t at);

/// The states [..,L,D] that enter the first layer, in that precision: x, repeated if the memory has
/// more samples.
Tensor states_of(const TransformerRequest& request, DType precision);

/// The states that leave the last layer, after the norm that follows it if there is one.
Tensor with_last_norm(const TransformerRequest& request, const Tensor& x);

/// The memory that the cross-attentions read, in that precision: as it is given, or what leaves the
/// encoder. Absent without a memory.
Tensor memory_of(const TransformerRequest& request, DType precision);

}  // namespace attn
