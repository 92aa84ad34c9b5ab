#include "models/stack_norms.hpp"

#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "attention/layer_norm.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// A weight that counts from one.
Tensor plus_one(const Tensor& weight) {
  const Tensor numbers = weight.converted(DType::float64);
  std::vector<double> sums(numbers.values<double>().begin(), numbers.values<double>().end());
  for (double& sum : sums) ++sum;
  return {weight.shape(), std::move(sums)};
}

}  // namespace

void refuse_shape(const CheckpointWeights& weights, const std::string& name, const Shape& shape,
                  const Shape& expected) {
  std::string sizes;
  for (const std::size_t size : expected) {
    sizes += (sizes.empty() ? "" : ",") + (size == 0 ? "any" : std::to_string(size));
  }
  throw input_error(translated("{1} {2} does not fit the configuration: expected [{3}]", name,
                               text(shape), sizes),
                    weights.place(),
                    translated("the configuration and the weights do not belong together"));
}

HeadNorm StackNorms::read(const char* purpose, std::optional<std::size_t> layer,
                          std::size_t width) const {
  HeadNorm norm;
  norm.weight = weights_.find(purpose, layer, "weight");
  if (norm.weight.shape() != Shape{width}) {
    refuse_shape(checkpoint_, weights_.name(purpose, std::nullopt), norm.weight.shape(), {width});
  }
  if (model_.norm == ModelNorm::rms_plus_one) norm.weight = plus_one(norm.weight);
  if (model_.norm == ModelNorm::layer) {
    norm.bias = weights_.find(purpose, layer, "bias");
    norm.kind = NormKind::layer;
  }
  return norm;
}

Tensor StackNorms::apply(const Tensor& x, const char* purpose,
                         std::optional<std::size_t> layer) const {
  if (!has(purpose, layer)) return x;
  const HeadNorm norm = read(purpose, layer, x.shape().back());
  return attn::apply(LayerNorm{norm.weight, norm.bias}, x, model_.eps, threads_, norm.kind);
}

std::optional<HeadNorm> StackNorms::of_states(const char* purpose, std::size_t layer,
                                              std::size_t width) const {
  if (!has(purpose, layer)) return std::nullopt;
  return read(purpose, layer, width);
}

std::optional<HeadNorm> StackNorms::of_heads(const char* purpose, std::size_t layer) const {
  if (model_.whole_width_norms || !has(purpose, layer)) return std::nullopt;
  return read(purpose, layer, model_.head_width);
}

}  // namespace attn
