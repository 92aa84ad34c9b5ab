#pragma once

#include "cli/arguments.hpp"

namespace attn::cli {

/// attn-cli plot: draws a picture of numbers that already exist. Returns the exit code.
int plot_command(const PlotArguments& arguments);

}  // namespace attn::cli
