#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/plot.hpp"

#include "plot/numbers/ticks.hpp"

namespace attn::plot {

/// The weights [Lq,Lk] of a heatmap with flags for cells that a mask hides or that do not exist. It
/// shares the tensors' elements.
class Matrix {
 public:
  /// Throws Error(input) that names `where` if the heatmap cannot be drawn: no weights, not two
  /// axes, an axis of size 0, labels, or flags of cells that do not match the weights.
  Matrix(const Heatmap& heatmap, const std::string& where);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }

  double at(std::size_t row, std::size_t column) const {
    const std::size_t index = row * columns_ + column;
    return floats_.empty() ? doubles_[index] : static_cast<double>(floats_[index]);
  }

  /// Whether there may be cells that are hidden or missing.
  bool has_hidden() const { return static_cast<bool>(flags_tensor_); }
  bool hidden(std::size_t row, std::size_t column) const {
    return by_mask(row, column) || in_effect(row, column);
  }
  /// Hidden by the mask, or in effect by a large negative bias.
  bool by_mask(std::size_t row, std::size_t column) const {
    return has_hidden() && flags_[row * columns_ + column] == 0;
  }
  bool in_effect(std::size_t row, std::size_t column) const {
    return has_hidden() && flags_[row * columns_ + column] == in_effect_flag;
  }
  bool missing(std::size_t row, std::size_t column) const {
    return has_hidden() && flags_[row * columns_ + column] == missing_flag;
  }
  /// Left blank by leave_out().
  bool left_out(std::size_t row, std::size_t column) const {
    return has_hidden() && flags_[row * columns_ + column] == left_out_flag;
  }
  bool has_left_out() const { return has_left_out_; }
  /// Missing or left out, whatever the style is.
  bool apart(std::size_t row, std::size_t column) const {
    return missing(row, column) || left_out(row, column);
  }
  /// Neither hidden nor missing nor left out.
  bool shown(std::size_t row, std::size_t column) const {
    return seen(row, column) && !left_out(row, column);
  }
  /// Neither hidden nor missing.
  bool seen(std::size_t row, std::size_t column) const {
    return !hidden(row, column) && !missing(row, column);
  }

  /// Leaves the cells blank that the choice leaves out.
  void leave_out(const CellChoice& choice);

  /// All elements, row by row, in the type that the matrix has; the other list is empty.
  std::span<const float> floats() const { return floats_; }
  std::span<const double> doubles() const { return doubles_; }

 private:
  void set_flags(const Tensor& cells, std::uint8_t flag, const std::string& where);

  static constexpr std::uint8_t missing_flag = 2, in_effect_flag = 3, left_out_flag = 4;

  Tensor weights_, flags_tensor_;
  std::size_t rows_ = 0, columns_ = 0;
  std::span<const float> floats_;
  std::span<const double> doubles_;
  std::span<const std::uint8_t> flags_;  ///< 0 = hidden by the mask, 1 = seen, or a flag
  bool has_left_out_ = false;
};

/// Bounds of ranges. Differences of values up to the first do not overflow; a positive range that
/// begins at the second has a middle, a logarithm and ten parts of each step.
inline constexpr double largest_value = std::numeric_limits<double>::max() / 4;
inline constexpr double least_positive_value = 1e-280;

/// The smallest and the largest finite value of all matrices, nothing if there is none.
/// `without_hidden` leaves out hidden and missing cells and blank ones, `positive` values that are
/// not above zero. The number of threads never changes it.
std::optional<Interval> value_range(std::span<const Matrix> matrices, bool without_hidden,
                                    bool positive = false, std::size_t threads = 1);

/// Kinds of cells that occur in some matrices besides positive finite values. Values of hidden and
/// missing cells do not count.
struct SpecialCells {
  bool by_mask = false, in_effect = false, missing = false, not_a_number = false,
       minus_infinity = false, infinity = false;
  bool not_positive = false;  ///< finite, and zero or below it
  bool left_out = false;
};
SpecialCells special_cells(std::span<const Matrix> matrices);

/// Ways from cells to pixels along an axis.
enum class Resampling {
  nearest,  ///< a pixel shows the cell under its middle
  mean,     ///< a pixel shows the mean of the cells under it, by the share of it that they cover
  hann,  ///< a pixel shows cells near it by a raised cosine, one cell or one pixel wide, whichever
         ///< is wider
};

/// The way that leaves cells sharp edges: nearest where there are as many pixels, otherwise mean.
constexpr Resampling sharp_resampling(std::size_t cells, std::size_t pixels) {
  return pixels >= cells ? Resampling::nearest : Resampling::mean;
}

/// The cells that a pixel shows and their shares, which sum to 1.
struct PixelShares {
  std::size_t first = 0;
  std::vector<double> shares;
};

/// Shares for each of `pixels` pixels that `cells` cells are spread over.
std::vector<PixelShares> pixel_shares(std::size_t cells, std::size_t pixels, Resampling resampling);

}  // namespace attn::plot
