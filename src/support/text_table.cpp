#include "support/text_table.hpp"

#include <algorithm>
#include <cstddef>

#include "support/display_width.hpp"

namespace attn {

std::vector<std::string> text_lines(std::span<const TextColumn> columns) {
  std::vector<std::string> lines(columns.empty() ? 0 : columns[0].cells.size());
  for (const TextColumn& column : columns) {
    std::size_t width = 0;
    for (const std::string& cell : column.cells) width = std::max(width, display_width(cell));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string& cell = column.cells[i];
      lines[i] += column.before + "  " +
                  (column.numbers ? padded_left(cell, width) : padded_right(cell, width));
    }
  }
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

std::string text_table(std::span<const TextColumn> columns) {
  std::string text;
  for (const std::string& line : text_lines(columns)) text += line + "\n";
  return text;
}

}  // namespace attn
