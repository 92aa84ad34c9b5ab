#pragma once

#include <string>

#include "attn/layers.hpp"

namespace attn {

/// The norm of x [..,D], float32 or float64; the result has its shape and type. Sums are taken in
/// double precision, to the same bits on any number of threads.
Tensor apply(const Norm& norm, const Tensor& x, double eps, std::size_t threads);

/// Throws Error(input) at the parameter if weight or bias are there and not [D]. `name` is the
/// norm's, such as "norm1"; `prefix` goes before it.
void check_layer_norm(const Norm& norm, std::size_t width, const std::string& prefix,
                      const std::string& name);

}  // namespace attn
