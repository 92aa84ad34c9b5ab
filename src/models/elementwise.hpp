#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "attn/tensor.hpp"

#include "models/architecture.hpp"
#include "support/parallel_for.hpp"

namespace attn {

/// f of the numbers of tensors of one shape and type, in double precision.
template <class F, class... Tensors>
Tensor mapped(std::size_t threads, const F& f, const Tensor& x, const Tensors&... others) {
  const auto each = [&]<class T>(const T*) {
    std::vector<T> y(x.size());
    constexpr std::size_t block = 1 << 14U;
    parallel_for((x.size() + block - 1) / block, threads, [&](std::size_t at) {
      const std::size_t end = std::min(x.size(), (at + 1) * block);
      const auto in = [&](auto... from) {
        for (std::size_t i = at * block; i < end; ++i) {
          y[i] = static_cast<T>(f(static_cast<double>(from[i])...));
        }
      };
      in(x.values<T>(), others.template values<T>()...);
    });
    return Tensor(x.shape(), std::move(y));
  };
  return x.dtype() == DType::float32 ? each(static_cast<const float*>(nullptr))
                                     : each(static_cast<const double*>(nullptr));
}

/// The activation of x, times `up` where that is given.
Tensor activated(const Tensor& x, const Tensor& up, ModelActivation activation,
                 std::size_t threads);

/// Root mean square norm over the last axis (Zhang and Sennrich 2019, section 4): x / √(mean x² +
/// ε) times the weight, which may count from one.
Tensor rms_normed(const Tensor& x, const Tensor& weight, double eps, bool plus_one,
                  std::size_t threads);

/// Some rows of a matrix, or elements of a vector, in that order.
Tensor picked(const Tensor& tensor, const std::vector<std::size_t>& rows);

/// Results of samples of several lengths as one tensor: zeros where there is nothing.
Tensor joined(const std::vector<Tensor>& samples);

}  // namespace attn
