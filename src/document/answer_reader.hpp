#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "attn/file_access.hpp"

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

/// Throws Error(input) if the document has a conversation to write by the model's chat template,
/// which is a program in the language Jinja.
void refuse_conversations(const JsonValue& root, const ModelFolder& folder,
                          const FileAccess& access);

/// Throws Error(input) for a document that asks for "generate" or "continue" of a model that does
/// not predict the next token.
void refuse_models_without_generation(const JsonValue& root, const ModelRequest& request);

/// Reads what a document asks for after the texts of a model, "generate" or "continue", and extends
/// the texts by as many tokens. Throws Error(input) for models that do not predict the next token,
/// and for more tokens than the model's positions or the limits allow.
void read_answer(const JsonValue& root, const FileAccess& access, ModelRequest& request);

/// Computes what follows the texts of a plan, if it asks for that, and puts it into them, their
/// tokens and their labels. `generated` as in DocumentOptions; may be empty.
void complete_answer(Plan& plan, std::size_t threads,
                     const std::function<void(std::size_t done, std::size_t all)>& generated);

}  // namespace attn
