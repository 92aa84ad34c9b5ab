#pragma once

#include <cstddef>

#include "attn/tensor.hpp"

namespace attn {

/// The elements from `first` on in that shape, shared; a shape alone if that is all the tensor is.
Tensor part_of(const Tensor& tensor, std::size_t first, Shape shape);

/// Rows `first` … `first` + count − 1 of the tensor's first axis, shared.
Tensor rows_of(const Tensor& tensor, std::size_t first, std::size_t count);

}  // namespace attn
