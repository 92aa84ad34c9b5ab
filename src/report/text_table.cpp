#include "report/text_table.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "support/printable.hpp"
#include "support/utf8.hpp"

namespace attn {

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

void TextTable::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::vector<std::string> TextTable::lines() const {
  const auto headed = [](const Column& column) { return !column.heading.empty(); };
  const std::size_t first = std::any_of(columns_.begin(), columns_.end(), headed) ? 1 : 0;
  std::vector<std::string> lines(first + rows_.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    const auto cell = [&](std::size_t line) -> const std::string& {
      return line < first ? column.heading : rows_[line - first][c];
    };
    std::size_t width = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) width = std::max(width, display_width(cell(i)));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i] += column.before + "  " +
                  (column.numbers ? padded_left(cell(i), width) : padded_right(cell(i), width));
    }
  }
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

std::string TextTable::text() const {
  std::string text;
  for (const std::string& line : lines()) text += line + "\n";
  return text;
}

}  // namespace attn
