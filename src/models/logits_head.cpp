#include "models/logits_head.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "attention/layer_norm.hpp"
#include "attention/linear.hpp"
#include "models/elementwise.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"

namespace attn {

std::string head_weight(const ModelHead& head, const CheckpointWeights& weights) {
  const std::string name = head.weight + ".weight", part = "language_model." + name;
  return !weights.has(name) && weights.has(part) ? part : name;
}

bool has_head(const Architecture& model, const CheckpointWeights& weights) {
  const ModelHead& head = model.head;
  if (!head.dense.empty()) return weights.has(head.dense + ".weight");
  return !head.weight.empty() && (model.tied || weights.has(head_weight(head, weights)));
}

LogitsHead::LogitsHead(const Architecture& model, const CheckpointWeights& weights,
                       const std::string& table, const ModelOptions& options)
    : model_(model), weights_(weights), options_(options) {
  const ModelHead& head = model.head;
  if (!head.dense.empty() && !weights.has(head.dense + ".weight")) {
    throw input_error(
        translated("the checkpoint has no head that gives logits: no tensor \"{1}.weight\"",
                   head.dense),
        weights.place(), translated("leave the logits out"));
  }
  if (model.tied || head.weight.empty()) {
    table_ = table;
  } else {
    table_ = head_weight(head, weights);
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
    const StoredLinear dense{StoredMatrix(weights_.raw(head.dense + ".weight"), false),
                             part(head.dense, ".bias")};
    x = apply(dense, x, threads, activating(curve_of(head.activation.value_or(model_.activation))));
    Tensor weight = part(head.norm, ".weight"), bias = part(head.norm, ".bias");
    if (!weight) weight = part(head.norm, ".gamma");
    if (!bias) bias = part(head.norm, ".beta");
    x = apply(LayerNorm{weight, bias}, x, model_.eps, threads);
  }
  if (model_.tied_logit_scale != 1) {
    x = mapped(
        threads, [&](double v) { return v * model_.tied_logit_scale; }, x);
  }
  x = apply(StoredLinear{StoredMatrix(weights_.raw(table_), false), bias_}, x, threads);
  if (!model_.logit_softcap) return x;
  const double cap = *model_.logit_softcap;
  return mapped(
      threads, [cap](double v) { return cap * std::tanh(v / cap); }, x);
}

}  // namespace attn
