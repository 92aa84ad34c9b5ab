#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "attn/tensor.hpp"

#include "support/memory.hpp"
#include "support/parallel_for.hpp"

namespace attn {

/// Elements of new tensors, and the choice of their C++ type.

/// Throws Error(internal): elements of this type are stored and converted, but not computed with.
[[noreturn]] void refuse_element_type(DType dtype);

/// use.operator()<T>() with the type T that stores elements of `dtype`: float, double, int64_t or
/// uint8_t. Throws Error(internal) for the 16-bit types.
template <class Use>
decltype(auto) with_element_type(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::float32:
      return use.template operator()<float>();
    case DType::float64:
      return use.template operator()<double>();
    case DType::int64:
      return use.template operator()<std::int64_t>();
    case DType::boolean:
      return use.template operator()<std::uint8_t>();
    case DType::bfloat16:
    case DType::float16:
      break;
  }
  refuse_element_type(dtype);
}

/// use.operator()<T>() with the type T that numbers of `dtype` are computed in: float for float32,
/// else double.
template <class Use>
decltype(auto) with_float_type(DType dtype, const Use& use) {
  return dtype == DType::float32 ? use.template operator()<float>()
                                 : use.template operator()<double>();
}

/// use(elements) with the span of a tensor's elements. Throws Error(internal) for the 16-bit types.
template <class Use>
decltype(auto) with_elements(const Tensor& tensor, const Use& use) {
  return with_element_type(tensor.dtype(), [&]<class T>() { return use(tensor.values<T>()); });
}

/// use(elements) with the span of a tensor's elements, which are float32 or float64. Throws
/// Error(internal) for another dtype.
template <class Use>
decltype(auto) with_floats(const Tensor& tensor, const Use& use) {
  return with_float_type(tensor.dtype(), [&]<class T>() { return use(tensor.values<T>()); });
}

/// Uninitialised memory for the elements of a new tensor, on large pages where there are many. Each
/// thread should be the first to touch the elements that it fills.
template <class T>
std::shared_ptr<T> new_elements(std::size_t count) {
  void* block = allocate_block(std::max<std::size_t>(count, 1) * sizeof(T));
  if (block == nullptr) throw std::bad_alloc();
  return {static_cast<T*>(block), FreeBlock()};
}

/// The tensor that takes over elements of new_elements(), once they are filled.
template <class T>
Tensor filled(Shape shape, const std::shared_ptr<T>& elements) {  // NOLINT(performance-*): moved
  return Tensor::borrowed(std::move(shape), dtype_of<T>(), elements.get(), elements);
}

/// f(x[i], others[i]…) for each element, with arguments in double precision, in x's shape and
/// dtype. All tensors have one shape and one dtype, float32 or float64. `threads` 0 = as many as
/// the machine has.
template <class F, class... Tensors>
Tensor mapped(std::size_t threads, const F& f, const Tensor& x, const Tensors&... others) {
  return with_float_type(x.dtype(), [&]<class T>() {
    const auto y = new_elements<T>(x.size());
    constexpr std::size_t block = 1 << 14U;
    parallel_for((x.size() + block - 1) / block, threads, [&](std::size_t at) {
      const std::size_t end = std::min(x.size(), (at + 1) * block);
      const auto in = [&](auto... from) {
        for (std::size_t i = at * block; i < end; ++i) {
          y.get()[i] = static_cast<T>(f(static_cast<double>(from[i])...));
        }
      };
      in(x.values<T>(), others.template values<T>()...);
    });
    return filled(x.shape(), y);
  });
}

}  // namespace attn
