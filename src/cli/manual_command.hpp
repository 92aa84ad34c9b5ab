#pragma once

#include "cli/arguments.hpp"

namespace attn::cli {

/// attn-cli manual: prints the manual page, section 1, in the man macros of roff.
int manual_command(const NoArguments& arguments);

}  // namespace attn::cli
