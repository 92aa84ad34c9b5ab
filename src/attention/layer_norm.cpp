#include "attention/layer_norm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>

#include "attn/error.hpp"

#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"

namespace attn {
namespace {

// Σ f(x) in eight sums, so that none waits for the one before it.
template <class T, class F>
double sum(std::span<const T> values, const F& f) {
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  std::size_t i = 0;
  for (; i + lanes <= values.size(); i += lanes) {
    for (std::size_t k = 0; k < lanes; ++k) sums[k] += f(static_cast<double>(values[i + k]));
  }
  double all = 0;
  for (; i < values.size(); ++i) all += f(static_cast<double>(values[i]));
  for (const double one : sums) all += one;
  return all;
}

template <class T>
Tensor normalised(const Norm& norm, const Tensor& x, const Tensor& change, double eps,
                  std::size_t threads) {
  const std::size_t width = x.shape().back(), rows = x.size() / width;
  const Tensor weight = norm.weight.converted(DType::float64);
  const Tensor bias = norm.bias.converted(DType::float64);
  const double* w = weight ? weight.values<double>().data() : nullptr;
  const double* b = bias ? bias.values<double>().data() : nullptr;
  const auto in = x.values<T>();
  const T* added = change ? change.values<T>().data() : nullptr;
  const std::shared_ptr<T> y = new_elements<T>(x.size());
  constexpr std::size_t block = 32;
  parallel_for((rows + block - 1) / block, threads, [&](std::size_t at) {
    for (std::size_t row = at * block; row < std::min(rows, (at + 1) * block); ++row) {
      T* const to = y.get() + row * width;
      auto values = in.subspan(row * width, width);
      if (added != nullptr) {
        for (std::size_t i = 0; i < width; ++i) to[i] = values[i] + added[row * width + i];
        values = {to, width};
      }
      // 1. Mean, which the RMS norm leaves where it is.
      double mean = 0;
      if (norm.kind == NormKind::layer) {
        mean = sum(values, [](double value) { return value; }) / static_cast<double>(width);
      }
      // 2. Biased variance, from the deviations: no cancellation for large means.
      const double variance =
          sum(values, [mean](double value) { return (value - mean) * (value - mean); }) /
          static_cast<double>(width);
      // 3. Normalise, scale, shift.
      const double factor = 1 / std::sqrt(variance + eps);
      for (std::size_t i = 0; i < width; ++i) {
        double value = (static_cast<double>(values[i]) - mean) * factor;
        if (w) value *= w[i];
        if (b) value += b[i];
        to[i] = static_cast<T>(value);
      }
    }
  });
  return filled(x.shape(), y);
}

}  // namespace

Tensor apply(const Norm& norm, const Tensor& x, double eps, std::size_t threads) {
  return apply_to_sum(norm, x, {}, eps, threads);
}

Tensor apply_to_sum(const Norm& norm, const Tensor& x, const Tensor& change, double eps,
                    std::size_t threads) {
  return with_float_type(x.dtype(),
                         [&]<class T>() { return normalised<T>(norm, x, change, eps, threads); });
}

void check_layer_norm(const Norm& norm, std::size_t width, const std::string& prefix,
                      const std::string& name) {
  const auto check = [&](const Tensor& tensor, const char* part) {
    if (!tensor || tensor.shape() == Shape{width}) return;
    const std::string full = prefix + name + part;
    throw input_error(
        translated("{1} {2} does not fit: expected {3}", full, text(tensor.shape()), text({width})),
        "/parameters/" + full,
        translated("give it one number for each of a hidden state's {1}", width));
  };
  check(norm.weight, ".weight");
  check(norm.bias, ".bias");
}

}  // namespace attn
