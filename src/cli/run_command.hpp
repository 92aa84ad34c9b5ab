#pragma once

#include "cli/arguments.hpp"

namespace attn::cli {

/// attn-cli run: computes one document, writes its results and prints the report. Returns the exit
/// code.
int run_command(const RunArguments& arguments);

}  // namespace attn::cli
