#include "attention/layer_norm.hpp"

#include <cmath>
#include <vector>

#include "attn/error.hpp"

namespace attn {

Tensor apply(const LayerNorm& norm, const Tensor& x, double eps) {
  const std::size_t width = x.shape().back(), rows = x.size() / width;
  const Tensor weight = norm.weight.converted(DType::float64);
  const Tensor bias = norm.bias.converted(DType::float64);
  const double* w = weight ? weight.values<double>().data() : nullptr;
  const double* b = bias ? bias.values<double>().data() : nullptr;
  const auto in = x.values<double>();
  std::vector<double> y(x.size());
  for (std::size_t row = 0; row < rows; ++row) {
    const auto values = in.subspan(row * width, width);
    // 1. Mean.
    double mean = 0;
    for (const double value : values) mean += value;
    mean /= static_cast<double>(width);
    // 2. Biased variance, from the deviations: no cancellation for large means.
    double variance = 0;
    for (const double value : values) variance += (value - mean) * (value - mean);
    variance /= static_cast<double>(width);
    // 3. Normalise, scale, shift.
    const double factor = 1 / std::sqrt(variance + eps);
    for (std::size_t i = 0; i < width; ++i) {
      double& value = y[row * width + i];
      value = (values[i] - mean) * factor;
      if (w) value *= w[i];
      if (b) value += b[i];
    }
  }
  return {x.shape(), std::move(y)};
}

void check_layer_norm(const LayerNorm& norm, std::size_t width, const std::string& prefix,
                      const std::string& name) {
  const auto check = [&](const Tensor& tensor, const char* part) {
    if (!tensor || tensor.shape() == Shape{width}) return;
    const std::string full = prefix + name + part;
    throw input_error(
        full + " " + text(tensor.shape()) + " does not fit: expected " + text({width}),
        "/parameters/" + full,
        "give it one number for each of a hidden state's " + std::to_string(width));
  };
  check(norm.weight, ".weight");
  check(norm.bias, ".bias");
}

}  // namespace attn
