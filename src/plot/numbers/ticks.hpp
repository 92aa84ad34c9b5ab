#pragma once

#include <string>
#include <vector>

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

}  // namespace attn::plot
