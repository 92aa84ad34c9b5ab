#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace attn::plot {

/// How the labels of one axis are spread over the cells that a terminal shows.
struct TerminalAxis {
  std::vector<std::string> labels;  ///< one a row or column of the matrix, printable
  bool given = false;               ///< not made up: Q_1…
  std::size_t shown = 0;            ///< cells along the axis, at most one a label
};

/// The lines above the cells, each `width` columns a cell: level labels if they fit, otherwise
/// turned ones, a character a line, at most `most_lines`; if there is no room for a label a cell,
/// every second, fifth, tenth … one.
std::vector<std::string> key_label_lines(const TerminalAxis& axis, std::size_t width,
                                         std::size_t most_lines);

/// The label at the left of each line, each of which shows `cells_a_line` cells; empty where there
/// is none.
std::vector<std::string> query_labels(const TerminalAxis& axis, std::size_t cells_a_line);

/// Columns of the widest label, but at most `most`.
std::size_t widest(const std::vector<std::string>& labels, std::size_t most);

}  // namespace attn::plot
