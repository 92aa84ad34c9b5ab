#include "plot/numbers/ticks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

// The rules are those of matplotlib 3.6 (AutoLocator): figures of the matplotlib style must show
// the ticks its users know.

namespace attn::plot {
namespace {

// Round multiples with one decade below and one step above, so that a step is found whatever the
// rounding of its scale.
constexpr std::array<double, 10> steps = {0.1, 0.2, 0.25, 0.5, 1, 2, 2.5, 5, 10, 20};
constexpr int fewest_ticks = 2;
constexpr int most_intervals = 9;

struct Scale {
  double step_unit;  // the power of ten below the mean tick distance
  double offset;  // taken off before dividing, where values are far larger than their differences
};

Scale scale_of(Interval view, int intervals) {
  const double range = std::abs(view.high - view.low);
  const double mean = (view.high + view.low) / 2;
  double offset = 0;
  if (std::abs(mean) / range >= 100) {
    offset = std::copysign(std::pow(10.0, std::floor(std::log10(std::abs(mean)))), mean);
  }
  return {std::pow(10.0, std::floor(std::log10(range / intervals))), offset};
}

// How far from a whole number of steps counts as on it: more where an offset has cost digits.
double edge_tolerance(double step, double offset) {
  if (offset == 0) return 1e-10;
  const double digits = std::log10(std::abs(offset) / step);
  return std::min(0.4999, std::max(1e-10, std::pow(10.0, digits - 12)));
}

double steps_below(double x, double step, double tolerance) {
  const auto [quotient, remainder] = floor_divide(x, step);
  return std::abs(remainder / step - 1) < tolerance ? quotient + 1 : quotient;
}

double steps_above(double x, double step, double tolerance) {
  const auto [quotient, remainder] = floor_divide(x, step);
  return std::abs(remainder / step) < tolerance ? quotient : quotient + 1;
}

}  // namespace

Division floor_divide(double x, double divisor) {
  double remainder = std::fmod(x, divisor);
  double quotient = (x - remainder) / divisor;
  if (remainder != 0 && (divisor < 0) != (remainder < 0)) {
    remainder += divisor;
    quotient -= 1;
  }
  double whole = std::floor(quotient);
  if (quotient - whole > 0.5) whole += 1;
  return {whole, remainder};
}

Interval nonsingular(Interval interval, double expander, double tiny) {
  auto [low, high] = interval;
  if (!std::isfinite(low) || !std::isfinite(high)) return {-expander, expander};
  if (high < low) std::swap(low, high);
  const double largest = std::max(std::abs(low), std::abs(high));
  if (largest < (1e6 / tiny) * std::numeric_limits<double>::min()) return {-expander, expander};
  if (high - low <= largest * tiny) {
    low -= expander * std::abs(low);
    high += expander * std::abs(high);
  }
  return {low, high};
}

int tick_intervals(double length, double font_size, bool horizontal) {
  const double space = std::floor(length / (font_size * (horizontal ? 3 : 2)));
  return static_cast<int>(std::clamp(space, 1.0, static_cast<double>(most_intervals)));
}

std::vector<double> tick_values(Interval view, int intervals) {
  view = nonsingular(view, 1e-13, 1e-14);
  if (!std::isfinite(view.high - view.low)) return {};
  const Scale scale = scale_of(view, intervals);
  const double low = view.low - scale.offset;
  const double high = view.high - scale.offset;
  const double least_step = (high - low) / intervals;

  std::size_t index = 0;
  while (index + 1 < steps.size() && steps[index] * scale.step_unit < least_step) ++index;

  std::vector<double> ticks;
  for (;; --index) {
    const double step = steps[index] * scale.step_unit;
    const double start = floor_divide(low, step).quotient * step;
    const double tolerance = edge_tolerance(step, scale.offset);
    const double first = steps_below(low - start, step, tolerance);
    const double last = steps_above(high - start, step, tolerance);
    ticks.clear();
    int shown = 0;
    const int count = static_cast<int>(last - first) + 1;
    for (int n = 0; n < count; ++n) {
      const double tick = (first + n) * step + start;
      shown += tick >= low && tick <= high;
      ticks.push_back(tick + scale.offset);
    }
    if (shown >= fewest_ticks || index == 0) return ticks;
  }
}

bool in_view(Interval view, double value) {
  const double slack = 1e-10 * (view.high - view.low);
  return value >= view.low - slack && value <= view.high + slack;
}

}  // namespace attn::plot
