#pragma once

#include "cli/arguments.hpp"

namespace attn::cli {

/// attn-cli completion: prints the completion script of a shell.
int completion_command(const CompletionArguments& arguments);

}  // namespace attn::cli
