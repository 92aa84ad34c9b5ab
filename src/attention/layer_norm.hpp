#pragma once

#include <string>

#include "attn/layers.hpp"

namespace attn {

/// x [..,D], float32 or float64, gives the same of that type, on any number of threads; sums are
/// taken in double precision.
Tensor apply(const LayerNorm& norm, const Tensor& x, double eps, std::size_t threads,
             NormKind kind = NormKind::layer);

/// The same of x + change, which has the shape and type of x and is rounded to it.
Tensor apply_to_sum(const LayerNorm& norm, const Tensor& x, const Tensor& change, double eps,
                    std::size_t threads, NormKind kind = NormKind::layer);

/// Throws Error(input) at the parameter if weight or bias are there and not [D]. `name` is the
/// norm's, such as "norm1"; `prefix` goes before it.
void check_layer_norm(const LayerNorm& norm, std::size_t width, const std::string& prefix,
                      const std::string& name);

}  // namespace attn
