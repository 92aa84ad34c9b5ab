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

/// The weights of a heatmap, which of them a mask hides and which do not exist; shares their
/// elements.
class Matrix {
 public:
  /// Throws Error(input) that names `where` if the heatmap cannot be drawn: no weights, not two
  /// axes, an axis of size 0, labels, `allowed` or `missing` that do not match the weights.
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
    return has_hidden() && flags_[row * columns_ + column] == 0;
  }
  bool missing(std::size_t row, std::size_t column) const {
    return has_hidden() && flags_[row * columns_ + column] == missing_flag;
  }
  /// Neither hidden nor missing.
  bool shown(std::size_t row, std::size_t column) const {
    return !hidden(row, column) && !missing(row, column);
  }

  /// All elements, row by row: of one of the two types, the other's are empty.
  std::span<const float> floats() const { return floats_; }
  std::span<const double> doubles() const { return doubles_; }

 private:
  static constexpr std::uint8_t missing_flag = 2;

  Tensor weights_, flags_tensor_;
  std::size_t rows_ = 0, columns_ = 0;
  std::span<const float> floats_;
  std::span<const double> doubles_;
  std::span<const std::uint8_t> flags_;  // 0 = hidden, 1 = seen
};

/// Ranges end within these: differences of values up to the first do not overflow, and one that is
/// to be above zero and begins at the second has a middle, a logarithm and ten parts of each step.
inline constexpr double largest_value = std::numeric_limits<double>::max() / 4;
inline constexpr double least_positive_value = 1e-280;

/// The smallest and the largest finite value of all matrices, hidden and missing cells apart if
/// `without_hidden`, those above zero if `positive`; nothing if there is none. It is the same for
/// any number of threads.
std::optional<Interval> value_range(std::span<const Matrix> matrices, bool without_hidden,
                                    bool positive = false, std::size_t threads = 1);

/// What there is in some matrices beside finite values, hidden and missing cells apart.
struct Oddities {
  bool hidden = false, missing = false, not_a_number = false, minus_infinity = false,
       infinity = false;
  bool not_positive = false;  ///< finite, and zero or below it
};
Oddities oddities(std::span<const Matrix> matrices);

/// How cells become pixels along an axis.
enum class Resampling {
  nearest,  ///< a pixel shows the cell under its middle
  mean,     ///< a pixel shows the mean of the cells under it, by the share of it that they cover
  hann,  ///< a pixel shows cells near it by a raised cosine, one cell or one pixel wide, whichever
         ///< is wider
};

/// Cells with sharp edges: the nearest one where there are as many pixels, else their mean.
constexpr Resampling sharp_resampling(std::size_t cells, std::size_t pixels) {
  return pixels >= cells ? Resampling::nearest : Resampling::mean;
}

/// The cells that a pixel shows and their shares, which sum to 1.
struct PixelShares {
  std::size_t first = 0;
  std::vector<double> shares;
};

/// For each of `pixels` pixels that `cells` cells are spread over.
std::vector<PixelShares> pixel_shares(std::size_t cells, std::size_t pixels, Resampling resampling);

}  // namespace attn::plot
