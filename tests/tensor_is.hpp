#pragma once

#include <cstring>
#include <vector>

#include "attn/tensor.hpp"

/// Whether the tensor has that shape and type and those very bits: 0 and -0 differ, equal NaN are
/// equal.
template <class T>
bool tensor_is(const attn::Tensor& tensor, const attn::Shape& shape,
               const std::vector<T>& elements) {
  return tensor && tensor.shape() == shape && tensor.dtype() == attn::dtype_of<T>() &&
         tensor.size() == elements.size() &&
         std::memcmp(tensor.bytes(), elements.data(), elements.size() * sizeof(T)) == 0;
}
