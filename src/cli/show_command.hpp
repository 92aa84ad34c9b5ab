#pragma once

#include "cli/arguments.hpp"

namespace attn::cli {

/// attn-cli show: draws a heatmap in the terminal. Returns the exit code.
int show_command(const ShowArguments& arguments);

}  // namespace attn::cli
