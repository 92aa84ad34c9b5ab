#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "attn/tensor.hpp"

#include "layers/embedding_and_head.hpp"
#include "layers/layer.hpp"
#include "models/generation_rules.hpp"
#include "models/pass.hpp"

namespace attn {

/// Request for tokens that follow the texts that a model reads.
struct AnswerRequest {
  /// Of the answer, each the likeliest one after those before it, as far as the rules allow it.
  std::size_t most_tokens = 0;
  /// Ids of tokens at which that ends, themselves the last of the answer.
  std::vector<std::int64_t> end_ids = {};
  /// In the place of likeliest tokens: those of a given text, for each sample.
  std::vector<std::vector<std::int64_t>> given = {};
  GenerationRules rules = {};  ///< of likeliest tokens
};

/// Tokens that follow a text, and the probability that the model gives each of them where it
/// stands, by a softmax of the logits in double precision.
struct Answer {
  std::vector<std::int64_t> ids;
  std::vector<double> probabilities;
};

/// Reads one text part by part with a model that predicts the next token, with key-value caches, so
/// that a token costs one row of each product. The result of each part is what a pass over the
/// whole text up to its end gives.
class CachedPass {
 public:
  /// The pass has one sample, of which an encoder-decoder's encoder reads its part here. Of its
  /// options no results are read; heads that are off write zeros. Refers to model and weights.
  explicit CachedPass(const ModelPass& pass);
  CachedPass(const CachedPass&) = delete;
  CachedPass& operator=(const CachedPass&) = delete;
  ~CachedPass() = default;

  /// Reads further tokens. Returns their states [1,n,D] as they leave the model.
  Tensor read(const std::vector<std::int64_t>& ids);

  /// The logits [count,V] behind tokens `first` … `first` + count − 1 of such states, in float64.
  Tensor logits(const Tensor& states, std::size_t first, std::size_t count) const;

 private:
  bool turns_anew(std::size_t length) const;
  Tensor pass(const std::vector<std::int64_t>& ids);

  const Architecture& model_;
  const ModelOptions options_;
  Stack stack_;
  LogitsHead head_;
  std::vector<Layer> layers_;  // all of them, made once
  Tensor memory_;
  struct LayerCache {
    KeyValueCache self, cross;
    DeltaState linear;
  };
  std::vector<LayerCache> caches_;  // of each layer
  std::vector<std::int64_t> read_;
};

/// The answer to the text of one sample. `generated` is called after each generated token with
/// their number; it may be empty. Throws Error(input) as run_model() does.
Answer answer_to(const ModelPass& pass, std::size_t sample, const AnswerRequest& request,
                 const std::function<void(std::size_t done)>& generated = {});

}  // namespace attn
