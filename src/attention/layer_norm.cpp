#include "attention/layer_norm.hpp"

#include <algorithm>
#include <memory>

#include "attn/error.hpp"

#include "kernels/row_functions.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"

namespace attn {
namespace {

template <class T>
Tensor normalised(const Norm& norm, const Tensor& x, double eps, std::size_t threads) {
  const std::size_t width = x.shape().back(), rows = x.size() / width;
  const Tensor weight = norm.weight.converted(DType::float64);
  const Tensor bias = norm.bias.converted(DType::float64);
  const kernels::RowNorm row_norm{weight ? weight.values<double>().data() : nullptr,
                                  bias ? bias.values<double>().data() : nullptr, eps,
                                  norm.kind == NormKind::layer};
  const std::shared_ptr<T> y = new_elements<T>(x.size());
  constexpr std::size_t block = 32;
  parallel_for((rows + block - 1) / block, threads, [&](std::size_t at) {
    const std::size_t first = at * block * width;
    kernels::normalise_rows(x.values<T>().data() + first, std::min(block, rows - at * block), width,
                            row_norm, y.get() + first);
  });
  return filled(x.shape(), y);
}

}  // namespace

Tensor apply(const Norm& norm, const Tensor& x, double eps, std::size_t threads) {
  return with_float_type(x.dtype(),
                         [&]<class T>() { return normalised<T>(norm, x, eps, threads); });
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
