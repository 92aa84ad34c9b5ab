#pragma once

#include <cstddef>
#include <functional>

#include "attn/file_access.hpp"

#include "document/plan.hpp"
#include "io/json_value.hpp"

namespace attn {

/// Throws Error(input) if the document has a conversation to write by the model's chat template,
/// which is a program in the language Jinja.
void refuse_conversations(const JsonValue& root, const ModelFolder& folder,
                          const FileAccess& access);

/// Reads what a document asks for after the texts of a model, "generate" or "continue", and extends
/// the texts by as many tokens. Throws Error(input) for models that do not predict the next token,
/// and for more tokens than the model's positions or the limits allow.
void read_answer(const JsonValue& root, const FileAccess& access, ModelRequest& request);

/// Computes what follows the texts of a plan, if it asks for that, and puts it into them, their
/// tokens and their labels. `generated` as in DocumentOptions; may be empty.
void complete_answer(Plan& plan, std::size_t threads,
                     const std::function<void(std::size_t done, std::size_t all)>& generated);

}  // namespace attn
