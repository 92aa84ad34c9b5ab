#pragma once

#include <string>
#include <vector>

namespace attn {

/// A table for people to read: its columns stand side by side, two spaces before each, every one as
/// wide as its widest cell, without a space at the end of a line.
class TextTable {
 public:
  struct Column {
    std::string heading;
    bool numbers = false;     ///< whether its cells end at the right
    std::string before = {};  ///< text between it and the column before it, in each line
  };

  /// Columns that all have no heading make a table without a line of headings.
  explicit TextTable(std::vector<Column> columns);

  /// Adds a row of as many cells as there are columns. The cells are made printable.
  void add(std::vector<std::string> cells);

  bool has_rows() const noexcept { return !rows_.empty(); }
  std::vector<std::string> lines() const;
  std::string text() const;  ///< the lines, each with a newline

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace attn
