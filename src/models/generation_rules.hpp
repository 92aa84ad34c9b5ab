#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/file_access.hpp"

#include "models/model_folder.hpp"

namespace attn {

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

}  // namespace attn
