#pragma once

#include <string>

#include "attn/run.hpp"

#include "cli/arguments.hpp"

namespace attn::cli {

/// The one input document of a command ("attn-cli run") and what its flags put before it. Throws
/// Error(usage).
DocumentOptions document_options(const DocumentArguments& arguments, const CommonArguments& common,
                                 const std::string& command);

}  // namespace attn::cli
