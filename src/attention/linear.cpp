#include "attention/linear.hpp"

#include <vector>

#include "attn/error.hpp"

#include "support/parallel_for.hpp"

namespace attn {

Tensor apply(const Linear& linear, const Tensor& x, std::size_t threads) {
  const Tensor weight = linear.weight.converted(DType::float64);
  const Tensor bias = linear.bias.converted(DType::float64);
  const std::size_t inputs = weight.shape()[1], outputs = weight.shape()[0];
  const std::size_t rows = x.size() / inputs;
  const double* w = weight.values<double>().data();
  const double* b = bias ? bias.values<double>().data() : nullptr;
  const double* in = x.values<double>().data();
  std::vector<double> y(rows * outputs);
  parallel_for(rows, threads, [&](std::size_t row) {
    for (std::size_t out = 0; out < outputs; ++out) {
      double sum = 0;
      for (std::size_t i = 0; i < inputs; ++i) sum += in[row * inputs + i] * w[out * inputs + i];
      y[row * outputs + out] = b ? sum + b[out] : sum;
    }
  });
  Shape shape = x.shape();
  shape.back() = outputs;
  return {std::move(shape), std::move(y)};
}

Shape check_linear(const Linear& linear, const Shape& x, const std::string& prefix,
                   const std::string& name) {
  const std::string weight = prefix + name + ".weight";
  if (!linear.weight) {
    throw input_error("the parameter " + weight + " is missing", "/parameters/" + weight,
                      "give it the shape [out," + std::to_string(x.back()) + "]");
  }
  const Shape& shape = linear.weight.shape();
  if (linear.weight.size() == 0) {
    throw input_error(weight + " " + text(shape) + " has an axis of size 0",
                      "/parameters/" + weight, "give every axis at least one element");
  }
  if (shape.size() != 2 || shape[1] != x.back()) {
    const std::string expected = "[out," + std::to_string(x.back()) + "]";
    throw input_error(weight + " " + text(shape) + " does not fit: expected " + expected,
                      "/parameters/" + weight,
                      "its second axis is the width of what it is applied to, " + text(x));
  }
  if (linear.bias && linear.bias.shape() != Shape{shape[0]}) {
    throw input_error(prefix + name + ".bias " + text(linear.bias.shape()) +
                          " does not fit: expected " + text({shape[0]}),
                      "/parameters/" + prefix + name + ".bias",
                      "give it one number a row of " + weight);
  }
  Shape result = x;
  result.back() = shape[0];
  return result;
}

}  // namespace attn
