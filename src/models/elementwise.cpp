#include "models/elementwise.hpp"

#include <cmath>
#include <numbers>

#include "attn/error.hpp"

#include "support/translated.hpp"
#include "tensor/operations.hpp"

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
  return sum(a, b, threads);
}

}  // namespace attn
