#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "attn/tensor.hpp"

#include "attention/attention_name.hpp"
#include "document/plan.hpp"

namespace attn {

/// The attention of what follows a model's texts to the parts of these: for each layer, head and
/// token of the answer, the sums of its row of weights over the parts' keys.
class AnswerShares {
 public:
  /// Refers to the request.
  explicit AnswerShares(const ModelRequest& request) : request_(request) {}

  /// Whether there is an answer and the attention goes to its prompt: of a text over itself, or of
  /// a decoder to the encoder's text.
  bool reads(const AttentionName& name) const;

  /// Adds the weights [B,H,Lq,Lk] of such an attention, layer after layer.
  void add(const AttentionName& name, const Tensor& weights);

  /// [layers,H,tokens,parts], or [B,layers,H,tokens,parts] of several texts, with zeros behind the
  /// ends of shorter answers; absent without layers.
  Tensor finish() const;
  /// Shape of that tensor for a number of layers.
  Shape shape(std::size_t layers) const;

 private:
  const ModelRequest& request_;
  std::vector<std::vector<double>> layers_;  // [B,H,tokens,parts]
};

}  // namespace attn
