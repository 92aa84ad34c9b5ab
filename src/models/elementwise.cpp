#include "models/elementwise.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "attn/error.hpp"

#include "support/translated.hpp"

namespace attn {

ActivationCurve curve_of(ModelActivation activation) {
  using kernels::Curve;
  switch (activation) {
    case ModelActivation::relu:
      return {Curve::relu};
    case ModelActivation::gelu:
      return {Curve::gelu};
    case ModelActivation::gelu_tanh:
      return {Curve::gelu_by_tanh, std::sqrt(2 / std::numbers::pi)};
    case ModelActivation::gelu_bloom:
      return {Curve::gelu_by_tanh, 0.79788456};
    case ModelActivation::quick_gelu:
      return {Curve::sigmoid, 1.702};
    case ModelActivation::silu:
      break;
  }
  return {Curve::sigmoid, 1};
}

void check_alike(const CheckpointWeights& weights, const Shape& a, const Shape& b) {
  if (a == b) return;
  throw input_error(translated("states {1} and {2} cannot be added", text(a), text(b)),
                    weights.place(), translated("the configuration and the weights differ"));
}

Tensor sum(const CheckpointWeights& weights, const Tensor& a, const Tensor& b,
           std::size_t threads) {
  check_alike(weights, a.shape(), b.shape());
  return mapped(
      threads, [](double x, double y) { return x + y; }, a, b);
}

Tensor picked(const Tensor& tensor, const std::vector<std::size_t>& rows) {
  const std::size_t width = tensor.size() / tensor.shape()[0];
  const auto pick = [&]<class T>(std::span<const T> from) {
    std::vector<T> to;
    to.reserve(rows.size() * width);
    for (const std::size_t row : rows) {
      to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(row * width),
                from.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
    }
    Shape shape = tensor.shape();
    shape[0] = rows.size();
    return Tensor(std::move(shape), std::move(to));
  };
  return tensor.dtype() == DType::float32 ? pick(tensor.values<float>())
                                          : pick(tensor.values<double>());
}

Tensor joined(const std::vector<Tensor>& samples) {
  if (samples.size() == 1) return samples.front();
  Shape shape = samples.front().shape();
  for (const Tensor& sample : samples) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      shape[axis] = std::max(shape[axis], sample.shape()[axis]);
    }
  }
  shape[0] = samples.size();
  const auto join = [&]<class T>(const T*) {
    std::vector<T> all(element_count(shape));
    const std::size_t each = all.size() / samples.size();
    for (std::size_t b = 0; b < samples.size(); ++b) {
      const Tensor& sample = samples[b];
      const std::size_t width = sample.shape().back();
      const auto from = sample.values<T>();
      Shape index(shape.size(), 0);
      for (std::size_t at = 0; at < from.size(); at += width) {
        std::size_t to = 0;
        for (std::size_t axis = 1; axis < shape.size(); ++axis) to = to * shape[axis] + index[axis];
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), width,
                    all.begin() + static_cast<std::ptrdiff_t>(b * each + to));
        for (std::size_t axis = shape.size() - 1; axis-- > 1;) {
          if (++index[axis] < sample.shape()[axis]) break;
          index[axis] = 0;
        }
      }
    }
    return Tensor(shape, std::move(all));
  };
  return samples.front().dtype() == DType::float32 ? join(static_cast<const float*>(nullptr))
                                                   : join(static_cast<const double*>(nullptr));
}

}  // namespace attn
