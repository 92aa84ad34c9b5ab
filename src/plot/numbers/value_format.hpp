#pragma once

#include <span>
#include <string>

#include "attn/plot.hpp"

#include "plot/numbers/matrix.hpp"
#include "plot/numbers/ticks.hpp"

namespace attn::plot {

/// `text` with every hyphen replaced by a minus sign (U+2212).
std::string with_minus_signs(const std::string& text);

/// The format of all values in the cells of a map.
struct ValueFormat {
  enum class Kind { fixed, significant, scientific, percent } kind = Kind::fixed;
  int digits = 2;  ///< decimals, or significant digits
  /// Whether numbers that are not zero but would read as zero are written as "<.01".
  bool marks_small = false;
  int exponent = 0;  ///< of the power of ten that numbers are given in
};

/// The format of ".3f", ".2g", ".1e" or ".1%". Throws Error(usage) for anything else.
ValueFormat parse_value_format(const std::string& text);

/// The format with enough digits to tell values of different colours apart: decimals that follow
/// the length of the range, none for whole numbers, and two significant digits where the colours
/// are not spread evenly or the numbers are very small or large. Small numbers next to a bar, which
/// names the power of ten of its ticks, are given in that power.
ValueFormat fitting_format(std::span<const Matrix> matrices, Interval range, const ColorNorm& norm,
                           bool next_to_bar = false);

/// A value in a format, with hyphens for minus signs: "0.25", "nan", "-inf".
std::string value_text(double value, const ValueFormat& format);

/// A number to three significant digits: "0.0123", "−1.5e−6".
std::string short_number(double value);

}  // namespace attn::plot
