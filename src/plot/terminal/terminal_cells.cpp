#include "plot/terminal/terminal_cells.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plot/numbers/resampling.hpp"

namespace attn::plot {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TerminalCell mean(const Matrix& matrix, const PixelShares& down, const PixelShares& across) {
  double sum = 0, share = 0, infinite = 0;
  bool any_seen = false;
  for (std::size_t k = 0; k < down.shares.size(); ++k) {
    for (std::size_t m = 0; m < across.shares.size(); ++m) {
      const std::size_t row = down.first + k, column = across.first + m;
      if (!matrix.shown(row, column)) continue;
      any_seen = true;
      const double value = matrix.at(row, column);
      if (std::isinf(value)) infinite = value;
      if (!std::isfinite(value)) continue;
      // Weighted before they are added: large values do not overflow.
      const double part = down.shares[k] * across.shares[m];
      sum += part * value;
      share += part;
    }
  }
  if (!any_seen) return {0, true};
  if (share > 0) return {sum / share, false};
  return {infinite != 0 ? infinite : std::numeric_limits<double>::quiet_NaN(), false};
}

}  // namespace

TerminalCells::TerminalCells(const Matrix& matrix, std::size_t most_rows, std::size_t most_columns)
    : rows_(std::min(matrix.rows(), most_rows)),
      columns_(std::min(matrix.columns(), most_columns)),
      range_{infinity, -infinity} {
  const auto down = pixel_shares(matrix.rows(), rows_, Resampling::mean);
  const auto across = pixel_shares(matrix.columns(), columns_, Resampling::mean);
  cells_.reserve(rows_ * columns_);
  for (const PixelShares& row : down) {
    for (const PixelShares& column : across) {
      const TerminalCell& cell = cells_.emplace_back(mean(matrix, row, column));
      has_hidden_ = has_hidden_ || cell.hidden;
      has_nan_ = has_nan_ || std::isnan(cell.value);
      has_infinity_ = has_infinity_ || cell.value == infinity;
      has_minus_infinity_ = has_minus_infinity_ || cell.value == -infinity;
      if (cell.hidden || !std::isfinite(cell.value)) continue;
      range_.low = std::min(range_.low, cell.value);
      range_.high = std::max(range_.high, cell.value);
    }
  }
}

}  // namespace attn::plot
