#pragma once

#include <span>
#include <string>
#include <vector>

namespace attn {

/// One column of a table in text, with its heading, if it has one, as the first of its cells.
struct TextColumn {
  std::vector<std::string> cells;  ///< as many as the other columns have
  bool numbers = false;            ///< which end at the right
  std::string before = {};         ///< what stands between it and the column before it in each line
};

/// The columns side by side, two spaces before each and no space at the end of a line. Each is as
/// wide as its widest cell.
std::vector<std::string> text_lines(std::span<const TextColumn> columns);
/// The same as one text.
std::string text_table(std::span<const TextColumn> columns);

}  // namespace attn
