#pragma once

#include <cstddef>
#include <optional>

#include "attn/plot.hpp"

#include "cli/common_flags.hpp"

namespace attn::cli {

/// What flags say of the terminal.
struct TerminalChoice {
  enum class Colors { always, never, automatic } colors = Colors::automatic;
  std::optional<std::size_t> width;
};

void add_terminal(Flags& flags, TerminalChoice& choice);

/// What standard output can show: --color and --width, else --no-color and NO_COLOR, else what the
/// terminal says of itself (COLORTERM, TERM, its size). Throws Error(usage) for what contradicts
/// itself.
TerminalOptions terminal_options(const TerminalChoice& choice, const Common& common);

}  // namespace attn::cli
