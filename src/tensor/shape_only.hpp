#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// A tensor of which only shape and dtype may be read, to check sizes before anything is computed.
/// So are its conversions and its parts; reading its elements throws Error(internal).
Tensor shape_only(Shape shape, DType dtype = DType::float64);
bool is_shape_only(const Tensor& tensor) noexcept;

}  // namespace attn
