#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "attn/document.hpp"

#include "cli/commands.hpp"

namespace attn::cli {

/// Adds --model, what it reads, and what is changed in it.
void add_model(Flags& flags, DocumentOptions& options);

/// Adds --layers and --logits, the choice among a model's results.
void add_model_results(Flags& flags, DocumentOptions& options);

/// Adds --logit and --key, the choice of the numbers of a model that are split into parts.
void add_why(Flags& flags, std::optional<std::string>& logit, std::optional<std::size_t>& key);

}  // namespace attn::cli
