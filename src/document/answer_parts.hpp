#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "document/plan.hpp"
#include "io/json_value.hpp"
#include "tokens/tokenizer.hpp"

namespace attn {

/// A token of a prompt, for the parts that it may belong to.
struct PromptToken {
  /// Character of the text at which its word or piece begins, spaces before it left out; absent =
  /// it is in no text, or in the second one of a pair, which has no parts.
  std::optional<std::size_t> character;
  bool special = false;
};

/// A prompt: its tokens, and the number of characters of its text.
struct Prompt {
  std::vector<PromptToken> tokens;
  std::size_t characters = 0;
};

/// The prompt of a text that was cut into tokens.
Prompt prompt_of(std::string_view text, const std::vector<TextToken>& tokens);

/// The prompt of ids without a text.
Prompt prompt_of(const std::vector<std::int64_t>& ids, const Tokenizer& tokenizer);

/// The parts of the prompts whose shares of the answer's attention are wanted: those of "parts", or
/// the whole. No prompts = they are no texts, and only the number of the tokens is known. Throws
/// Error(input) at "/parts".
AnswerParts read_answer_parts(const JsonValue* parts, const std::vector<Prompt>& prompts,
                              const ModelRequest& request);

}  // namespace attn
