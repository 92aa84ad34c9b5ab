#pragma once

#include <cstddef>
#include <functional>
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

/// Layer `at` of a request whose stack is sound, as step() takes it.
Layer layer_of(const TransformerRequest& request, std::size_t at);

/// The states [..,L,D] that enter the first layer, in that precision: x, repeated if the memory has
/// more samples.
Tensor states_of(const TransformerRequest& request, DType precision);

}  // namespace attn
