#pragma once

#include <string>

#include "attn/run.hpp"

#include "cli/arguments.hpp"

namespace attn::cli {

/// The one input document of a command ("attn-cli run"). Throws Error(usage).
std::string one_input(const DocumentArguments& arguments, const std::string& command);

/// What flags put before the document, whatever that is. Throws Error(usage).
DocumentOptions document_overrides(const DocumentArguments& arguments,
                                   const CommonArguments& common);

/// The one input document of a command ("attn-cli run") and what its flags put before it. Throws
/// Error(usage).
DocumentOptions document_options(const DocumentArguments& arguments, const CommonArguments& common,
                                 const std::string& command);

}  // namespace attn::cli
