#pragma once

#include "cli/arguments.hpp"

namespace attn::cli {

/// attn-cli validate: prints every problem of each document. Returns 0, or the exit code of the
/// worst problem.
int validate_command(const ValidateArguments& arguments);

}  // namespace attn::cli
