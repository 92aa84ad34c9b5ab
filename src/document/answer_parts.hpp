#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "document/plan.hpp"
#include "io/json_value.hpp"

namespace attn {

/// A token of a prompt, for the parts that it may belong to.
struct PromptToken {
  /// Of the text that it begins at, the space before a word left out; absent = it is in no text.
  std::optional<std::size_t> character;
  bool special = false;
};

/// A prompt: its tokens, and the number of characters of its text.
struct Prompt {
  std::vector<PromptToken> tokens;
  std::size_t characters = 0;
};

/// The parts of the prompts whose shares of the answer's attention are wanted: those of "parts", or
/// the whole. No prompts = they are no texts, and only the number of the tokens is known. Throws
/// Error(input) at "/parts".
AnswerParts read_answer_parts(const JsonValue* parts, const std::vector<Prompt>& prompts,
                              const ModelRequest& request);

}  // namespace attn
