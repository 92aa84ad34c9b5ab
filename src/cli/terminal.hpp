#pragma once

#include "attn/plot.hpp"

#include "cli/arguments.hpp"

namespace attn::cli {

/// What standard output can show: --color and --width, else --no-color and NO_COLOR, else what the
/// terminal says of itself (COLORTERM, TERM, its size). Throws Error(usage) for values the flags do
/// not take.
TerminalOptions terminal_options(const TerminalArguments& arguments, const CommonArguments& common);

}  // namespace attn::cli
