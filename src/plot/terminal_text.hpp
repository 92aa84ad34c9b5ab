#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/plot.hpp"

#include "plot/colour/colour.hpp"

namespace attn::plot {

/// Labels along one axis of the cells that a terminal shows.
struct TerminalAxis {
  std::vector<std::string> labels;  ///< one a row or column of the matrix, printable
  bool given = false;               ///< whether they are the input's, not "Q_1"…
  std::size_t shown = 0;            ///< cells along the axis, at most one a label
};

/// The lines of labels above the cells, each cell `width` columns wide: level labels if they fit,
/// otherwise turned ones, a character a line, at most `most_lines`; if there is no room for a label
/// a cell, every second, fifth, tenth … one.
std::vector<std::string> key_label_lines(const TerminalAxis& axis, std::size_t width,
                                         std::size_t most_lines);

/// The label at the left of each line, which shows `cells_a_line` rows of cells; empty where there
/// is none.
std::vector<std::string> query_labels(const TerminalAxis& axis, std::size_t cells_a_line);

/// Width of the widest label in columns of the terminal, but at most `most`.
std::size_t widest(const std::vector<std::string>& labels, std::size_t most);

/// A line for a terminal, made of pieces of text in colours of their own. A piece without a colour
/// has the terminal's, as has everything on a terminal without colours.
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

/// The nearest entry of xterm's palette to a colour, among those that all terminals agree on, 16 to
/// 255.
int nearest_in_palette(Colour colour);

}  // namespace attn::plot
