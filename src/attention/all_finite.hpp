#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// Whether no element of a tensor of float32 or float64 is NaN or infinite.
bool all_finite(const Tensor& tensor);

}  // namespace attn
