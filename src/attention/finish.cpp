#include "attention/finish.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>

namespace attn {

double activated(double x, const ActivationCurve& by) {
  switch (by.curve) {
    case kernels::Curve::relu:
      return x < 0 ? 0 : x;  // NaN stays NaN
    case kernels::Curve::gelu:
      return x * (0.5 * std::erfc(-x / std::numbers::sqrt2));
    case kernels::Curve::gelu_by_tanh:
      return 0.5 * x * (1 + std::tanh(by.constant * (x + 0.044715 * x * x * x)));
    case kernels::Curve::sigmoid:
      return x / (1 + std::exp(-by.constant * x));
  }
  return x;
}

Finish activating(const ActivationCurve& by) {
  return {[by](std::size_t, std::size_t count, float* y) {
            kernels::activate(by.curve, static_cast<float>(by.constant), y, nullptr, count, y);
          },
          [by](std::size_t, std::size_t count, double* y) {
            for (std::size_t i = 0; i < count; ++i) y[i] = activated(y[i], by);
          }};
}

Finish gating(const Tensor& gates, const ActivationCurve& by) {
  return {[by, gates](std::size_t at, std::size_t count, float* y) {
            kernels::activate(by.curve, static_cast<float>(by.constant),
                              gates.values<float>().data() + at, y, count, y);
          },
          [by, gates](std::size_t at, std::size_t count, double* y) {
            const double* gate = gates.values<double>().data() + at;
            for (std::size_t i = 0; i < count; ++i) y[i] *= activated(gate[i], by);
          }};
}

Finish adding(const Tensor& base) {
  const auto add = [base]<class T>(std::size_t at, std::size_t count, T* y) {
    const T* from = base.values<T>().data() + at;
    for (std::size_t i = 0; i < count; ++i) y[i] += from[i];
  };
  return {add, add};
}

}  // namespace attn
