#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/tensor.hpp"

#include "layers/embedding_and_head.hpp"
#include "layers/layer.hpp"
#include "models/pass.hpp"

namespace attn {

struct ModelFolder;

/// A text to which a model adds tokens.
struct AnswerSoFar {
  /// Ids that the encoder reads, or in models without one the text before the answer.
  const std::vector<std::int64_t>& source;
  const std::vector<std::int64_t>& text;  ///< with the answer so far
  std::size_t prompt = 0;                 ///< tokens before the answer
  std::size_t most = 0;                   ///< tokens of the answer at most
  const std::vector<std::int64_t>& ends;  ///< ids of tokens that end it
};

/// Rules by which transformers changes logits before it takes the likeliest token
/// (generation/logits_process.py of 5.24), in the order in which they act.
struct GenerationRules {
  double encoder_repetition_penalty = 1, repetition_penalty = 1;
  std::size_t no_repeat_ngram_size = 0, encoder_no_repeat_ngram_size = 0;
  std::vector<std::vector<std::int64_t>> bad_words = {};
  std::size_t min_length = 0, min_new_tokens = 0;
  std::vector<std::int64_t> forced_first = {}, forced_last = {};  ///< at both ends of an answer
  std::vector<std::int64_t> suppressed = {}, suppressed_first = {};
  /// Members with which the library takes other tokens than the likeliest, and their values.
  std::vector<std::string> not_followed = {};

  /// Changes the logits [V] of the token after that text.
  void apply(const AnswerSoFar& answer, std::vector<double>& logits) const;
};

/// The rules of a model's generation_config.json or, where there is none, its config.json. Throws
/// Error(file) or Error(input) naming the file and the member for one of another type.
GenerationRules generation_rules(const ModelFolder& model, const FileAccess& access);

/// Request for tokens that follow the texts that a model reads.
struct AnswerRequest {
  /// Most tokens of the answer, each the likeliest one that the rules allow after those before it.
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
    MixerState mixer;
  };
  std::vector<LayerCache> caches_;  // of each layer
  std::vector<std::int64_t> read_;
};

/// The answer to the text of one sample. `generated` is called after each generated token with
/// their number; it may be empty. Throws Error(input) as run_model() does.
Answer answer_to(const ModelPass& pass, std::size_t sample, const AnswerRequest& request,
                 const std::function<void(std::size_t done)>& generated = {});

}  // namespace attn
