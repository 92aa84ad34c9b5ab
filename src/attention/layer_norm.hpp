#pragma once

#include <string>

#include "attn/layers.hpp"

namespace attn {

/// x [..,D], float64, gives [..,D], float64.
Tensor apply(const LayerNorm& norm, const Tensor& x, double eps);

/// Throws Error(input) at the parameter if weight or bias are there and not [D]. `name` is the
/// norm's, such as "norm1"; `prefix` goes before it.
void check_layer_norm(const LayerNorm& norm, std::size_t width, const std::string& prefix,
                      const std::string& name);

}  // namespace attn
