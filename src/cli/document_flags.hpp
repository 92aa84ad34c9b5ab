#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/run.hpp"

#include "cli/commands.hpp"

namespace attn::cli {

/// The flags that go before what a document says.
void add_document(Flags& flags, DocumentOptions& options);

/// What is wanted of a model.
void add_model_results(Flags& flags, DocumentOptions& options);

/// The one input document of a command ("attn-cli run").
Words document_words(DocumentOptions& options, const std::string& command);

}  // namespace attn::cli
