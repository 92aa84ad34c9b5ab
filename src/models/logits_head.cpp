#include "models/logits_head.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "attention/layer_norm.hpp"
#include "attention/linear.hpp"
#include "models/elementwise.hpp"

namespace attn {

bool has_head(const Architecture& model, const CheckpointWeights& weights) {
  const ModelHead& head = model.head;
  if (!head.dense.empty()) return weights.has(head.dense + ".weight");
  return !head.weight.empty() && (model.tied || weights.has(head.weight + ".weight"));
}

LogitsHead::LogitsHead(const Architecture& model, const CheckpointWeights& weights,
                       const std::string& table, const ModelOptions& options)
    : model_(model), weights_(weights), options_(options) {
  const ModelHead& head = model.head;
  if (!head.dense.empty() && !weights.has(head.dense + ".weight")) {
    throw input_error(
        "the checkpoint has no head that gives logits: no tensor \"" + head.dense + ".weight\"",
        weights.place(), "leave the logits out");
  }
  if (model.tied || head.weight.empty()) {
    table_ = table;
  } else {
    table_ = head.weight + ".weight";
  }
  for (const std::string& name : head.bias) {
    if (!bias_ && weights.has(name)) bias_ = weights.read(name);
  }
  if (bias_ && bias_.rank() == 2) bias_ = bias_.reshaped({bias_.size()});
}

Tensor LogitsHead::logits(Tensor x) const {
  const std::size_t threads = options_.threads;
  const ModelHead& head = model_.head;
  const auto part = [&](const std::string& name, const char* end) {
    return weights_.has(name + end) ? weights_.read(name + end) : Tensor();
  };
  if (!head.dense.empty()) {
    x = apply(Linear{part(head.dense, ".weight"), part(head.dense, ".bias")}, x, threads);
    const ModelActivation activation = head.activation.value_or(model_.activation);
    x = activated(x, {}, activation, threads);
    Tensor weight = part(head.norm, ".weight"), bias = part(head.norm, ".bias");
    if (!weight) weight = part(head.norm, ".gamma");
    if (!bias) bias = part(head.norm, ".beta");
    x = apply(LayerNorm{weight, bias}, x, model_.eps, threads);
  }
  if (model_.tied_logit_scale != 1) {
    x = mapped(
        threads, [&](double v) { return v * model_.tied_logit_scale; }, x);
  }
  x = scores(x);
  if (!model_.logit_softcap) return x;
  const double cap = *model_.logit_softcap;
  return mapped(
      threads, [cap](double v) { return cap * std::tanh(v / cap); }, x);
}

Tensor LogitsHead::scores(const Tensor& x) const {
  constexpr std::size_t most = 8192;
  const StoredMatrix table(weights_.raw(table_), false);
  const std::size_t words = weights_.shape(table_)[0], rows = x.size() / x.shape().back();
  const auto all = [&]<class T>(const T*) {
    std::vector<T> y(rows * words);
    for (std::size_t first = 0; first < words; first += most) {
      const std::size_t count = std::min(most, words - first);
      const Tensor part = apply(
          StoredLinear{table.rows(first, count), bias_ ? rows_of(bias_, first, count) : Tensor()},
          x, options_.threads);
      for (std::size_t i = 0; i < rows; ++i) {
        std::copy_n(part.values<T>().data() + i * count, count, y.data() + i * words + first);
      }
    }
    Shape shape = x.shape();
    shape.back() = words;
    return Tensor(std::move(shape), std::move(y));
  };
  return x.dtype() == DType::float32 ? all(static_cast<const float*>(nullptr))
                                     : all(static_cast<const double*>(nullptr));
}

}  // namespace attn
