#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attn/plot.hpp"

#include "plot/colour/colour.hpp"

namespace attn::plot {

/// One line for a terminal, put together from pieces of text in colours of their own. A piece
/// without a colour takes the terminal's, and so does everything where the terminal has none.
class TerminalLine {
 public:
  explicit TerminalLine(TerminalColors colors) : colors_(colors) {}

  void add(std::string_view text, std::optional<Colour> background = {},
           std::optional<Colour> foreground = {});

  /// The line with its end; spaces at its end are left out where they cannot be seen.
  std::string finished();

 private:
  void set(char layer, std::optional<Colour>& current, std::optional<Colour> wanted);

  TerminalColors colors_;
  std::string text_;
  std::optional<Colour> background_, foreground_;
};

/// The entry of xterm's palette of 256 colours, of those all terminals agree on (16…255), that is
/// nearest to a colour.
int nearest_in_palette(Colour colour);

}  // namespace attn::plot
