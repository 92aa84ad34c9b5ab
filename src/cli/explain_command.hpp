#pragma once

#include "cli/arguments.hpp"

namespace attn::cli {

/// attn-cli explain: prints every step of the computation for one query. Returns the exit code.
int explain_command(const ExplainArguments& arguments);

}  // namespace attn::cli
