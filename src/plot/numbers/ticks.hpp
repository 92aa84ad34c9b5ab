#pragma once

#include <span>
#include <string>
#include <vector>

#include "attn/plot.hpp"

namespace attn::plot {

/// A closed interval of values.
struct Interval {
  double low = 0, high = 1;
};

/// x = quotient · divisor + remainder with a whole quotient and a remainder that takes the
/// divisor's sign.
struct Division {
  double quotient, remainder;
};
Division floor_divide(double x, double divisor);

/// Widens an interval whose ends are equal, or nearly so, by `expander` times their size (by
/// `expander` itself about zero), so that positions in it are defined. `tiny` is the ratio of its
/// length to its ends below which it counts as empty. An interval with an end that is not finite
/// becomes ±expander.
Interval nonsingular(Interval interval, double expander, double tiny);

/// Number of tick intervals, 1 to 9, that fit an axis of `length` points with labels of `font_size`
/// points. Labels of a horizontal axis are taken to be three times as wide as high, those of a
/// vertical one want a line between them.
int tick_intervals(double length, double font_size, bool horizontal);

/// Round values within the view, at most `intervals` + 1 and at least two if it holds two:
/// multiples of 1, 2, 2.5 or 5 times a power of ten. The list may reach one value beyond each end
/// of the view, as tick_texts needs it; it is empty if the view's length overflows.
std::vector<double> tick_values(Interval view, int intervals);

/// Whether a value lies in the view, allowing for rounding.
bool in_view(Interval view, double value);

/// Tick values as text, all with the same number of decimals.
struct TickTexts {
  std::vector<std::string> labels;
  /// A factor and a summand common to all labels, as "1e−6" or "+1e5"; often empty.
  std::string offset;
  int exponent = 0;  ///< of that factor, where it has no summand beside it
};

/// Texts of tick values, with the fewest decimals that tell them apart. Large and small ones have a
/// common power of ten, close ones a common summand.
TickTexts tick_texts(const std::vector<double>& values, Interval view);

/// The ticks of a logarithmic axis.
struct LogTicks {
  std::vector<double> values;        ///< within the view
  std::vector<std::string> labels;   ///< one a value
  std::vector<double> minor_values;  ///< without labels
};

/// Ticks at powers of ten, at most `intervals` + 1; in a view that holds fewer than two of them,
/// at other round values. The view begins above zero.
LogTicks log_ticks(Interval view, int intervals);

/// `text` with every hyphen replaced by a minus sign (U+2212).
std::string with_minus_signs(const std::string& text);

class Matrix;

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
