#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "attn/document.hpp"
#include "attn/explain.hpp"

#include "cli/commands.hpp"

namespace attn::cli {

/// Adds --model, what it reads, and what is changed in it.
void add_model(Flags& flags, DocumentOptions& options);

/// Adds --layers and --logits, the choice among a model's results.
void add_model_results(Flags& flags, DocumentOptions& options);

/// Adds --logit and --key, the choice of the numbers of a model that are split into parts.
void add_why(Flags& flags, std::optional<std::string>& logit, std::optional<std::size_t>& key);

/// Takes a layer of a document or of maps, "3" or "encoder.3"; returns whether the text names one.
bool take_layer(const std::string& text, ExplainOptions& options);

/// Takes the head whose scores are split, "2.1" or "cross.2.1". Throws Error(usage) that names the
/// flag.
void take_head_of_layer(const std::string& flag, const std::string& text, ExplainOptions& options);

}  // namespace attn::cli
