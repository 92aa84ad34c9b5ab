#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "attn/tensor.hpp"

#include "support/large_block.hpp"

namespace attn {

/// Numbers for a new tensor that are not set to zero first: on large pages, and touched by the
/// threads that fill them.
template <class T>
std::shared_ptr<T> new_elements(std::size_t count) {
  void* block = allocate_block(std::max<std::size_t>(count, 1) * sizeof(T));
  if (block == nullptr) throw std::bad_alloc();
  return {static_cast<T*>(block), FreeBlock()};
}

/// The tensor of these elements, once they are filled.
template <class T>
Tensor filled(Shape shape, const std::shared_ptr<T>& elements) {  // NOLINT(performance-*): moved
  return Tensor::borrowed(std::move(shape), dtype_of<T>(), elements.get(), elements);
}

}  // namespace attn
