#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "attn/tensor.hpp"

#include "attention/finish.hpp"
#include "attention/linear.hpp"
#include "attention/new_elements.hpp"
#include "models/architecture.hpp"
#include "models/checkpoint.hpp"
#include "support/parallel_for.hpp"

namespace attn {

/// f of the numbers of tensors of one shape and type, in double precision.
template <class F, class... Tensors>
Tensor mapped(std::size_t threads, const F& f, const Tensor& x, const Tensors&... others) {
  const auto each = [&]<class T>(const T*) {
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
  };
  return x.dtype() == DType::float32 ? each(static_cast<const float*>(nullptr))
                                     : each(static_cast<const double*>(nullptr));
}

ActivationCurve curve_of(ModelActivation activation);

/// a + b. Throws Error(input) if their shapes differ, which the weights are at fault for.
Tensor sum(const CheckpointWeights& weights, const Tensor& a, const Tensor& b, std::size_t threads);
void check_alike(const CheckpointWeights& weights, const Shape& a, const Shape& b);

/// Some rows of a matrix, or elements of a vector, in that order.
Tensor picked(const Tensor& tensor, const std::vector<std::size_t>& rows);

/// Results of samples of several lengths as one tensor: zeros where there is nothing.
Tensor joined(const std::vector<Tensor>& samples);

}  // namespace attn
