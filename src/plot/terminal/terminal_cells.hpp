#pragma once

#include <cstddef>
#include <vector>

#include "plot/numbers/matrix.hpp"
#include "plot/numbers/ticks.hpp"

namespace attn::plot {

/// One cell as a terminal shows it: a weight, or the mean of several.
struct TerminalCell {
  double value = 0;     ///< infinite or NaN if no cell under it holds a finite number
  bool hidden = false;  ///< by a mask, with all cells under it
};

/// A matrix averaged to at most so many rows and columns.
class TerminalCells {
 public:
  TerminalCells(const Matrix& matrix, std::size_t most_rows, std::size_t most_columns);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  const TerminalCell& at(std::size_t row, std::size_t column) const {
    return cells_[row * columns_ + column];
  }

  bool has_hidden() const { return has_hidden_; }
  bool has_nan() const { return has_nan_; }
  bool has_infinity(bool negative) const { return negative ? has_minus_infinity_ : has_infinity_; }
  /// Of the finite values that are shown; low > high if there are none.
  Interval range() const { return range_; }

 private:
  std::size_t rows_, columns_;
  std::vector<TerminalCell> cells_;
  bool has_hidden_ = false, has_nan_ = false, has_infinity_ = false, has_minus_infinity_ = false;
  Interval range_;
};

}  // namespace attn::plot
