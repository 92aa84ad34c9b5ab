#include "plot/numbers/ticks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "support/number_text.hpp"

namespace attn::plot {
namespace {

// The rules are those of matplotlib 3.6 (AutoLocator): figures of the matplotlib style must show
// the ticks its users know.

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

// Distance from a whole number of steps that counts as none: more where an offset has cost digits.
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

// The rules are those of matplotlib 3.6 (ScalarFormatter with its default settings).

constexpr int smallest_plain_exponent = -4;  // 1e-5 and below are written by a common power of ten
constexpr int largest_plain_exponent = 5;    // so are 1e6 and above
constexpr int digits_saved_by_offset = 4;

double floor_quotient(double x, double unit) {
  return floor_divide(x, unit).quotient;
}

// The least and the largest of the values within the view.
std::optional<Interval> visible_range(const std::vector<double>& values, Interval view) {
  std::optional<Interval> range;
  for (const double value : values) {
    if (value < view.low || value > view.high) continue;
    if (!range) range = Interval{value, value};
    range->low = std::min(range->low, value);
    range->high = std::max(range->high, value);
  }
  return range;
}

// A round number that, taken off all visible values, saves at least four digits; else 0.
double common_summand(const std::vector<double>& values, Interval view) {
  const auto visible = visible_range(values, view);
  if (!visible || visible->low == visible->high || (visible->low <= 0 && visible->high >= 0)) {
    return 0;
  }
  const double least = std::min(std::abs(visible->low), std::abs(visible->high));
  const double largest = std::max(std::abs(visible->low), std::abs(visible->high));
  const double top = std::ceil(std::log10(largest));
  // The smallest power of ten to which both ends agree …
  double exponent = top;
  while (floor_quotient(least, std::pow(10.0, exponent)) ==
         floor_quotient(largest, std::pow(10.0, exponent))) {
    --exponent;
  }
  ++exponent;
  if ((largest - least) / std::pow(10.0, exponent) <= 1e-2) {
    // … or, where they straddle a multiple of a far larger power, to which they are at most one
    // apart.
    exponent = top;
    while (floor_quotient(largest, std::pow(10.0, exponent)) -
               floor_quotient(least, std::pow(10.0, exponent)) <=
           1) {
      --exponent;
    }
    ++exponent;
  }
  const double unit = std::pow(10.0, exponent);
  const double multiple = floor_quotient(largest, unit);
  if (multiple < std::pow(10.0, digits_saved_by_offset - 1)) return 0;
  return std::copysign(multiple * unit, visible->low);
}

// The power of ten that all labels are divided by; 0 where none is needed.
int common_exponent(const std::vector<double>& values, Interval view, double summand) {
  const auto visible = visible_range(values, view);
  if (!visible) return 0;
  const double size = summand != 0 ? view.high - view.low
                                   : std::max(std::abs(visible->low), std::abs(visible->high));
  if (size == 0) return 0;
  const int exponent = static_cast<int>(std::floor(std::log10(size)));
  const bool plain = exponent >= smallest_plain_exponent && exponent <= largest_plain_exponent;
  return plain ? 0 : exponent;
}

// The fewest decimals that show every value to a thousandth of their range.
int decimals_for(const std::vector<double>& shown, Interval view) {
  const std::size_t count = shown.size();
  std::vector<double> spread = shown;
  if (count < 2) spread.insert(spread.end(), {view.low, view.high});
  const auto [least, largest] = std::minmax_element(spread.begin(), spread.end());
  double range = *largest - *least;
  if (range == 0) range = std::max(std::abs(*least), std::abs(*largest));
  if (range == 0) range = 1;
  const int exponent = static_cast<int>(std::floor(std::log10(range)));
  const double tolerance = 1e-3 * std::pow(10.0, exponent);
  int decimals = std::max(0, 3 - exponent);
  for (; decimals >= 0; --decimals) {
    const double unit = std::pow(10.0, decimals);
    double worst = 0;
    for (const double value : shown) {
      worst = std::max(worst, std::abs(value - std::nearbyint(value * unit) / unit));
    }
    if (worst >= tolerance) break;
  }
  return decimals + 1;
}

// `+1e5`, `−1.25e−3`, `+1234`: a summand with at most ten decimals.
std::string summand_text(double summand) {
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(summand))));
  const double digits = std::nearbyint(summand / std::pow(10.0, exponent) * 1e10) / 1e10;
  std::string text;
  if (summand > 0) text += '+';
  text += std::fmod(digits, 1.0) == 0 ? with_decimals(digits, 0) : with_digits(digits, 10);
  if (exponent != 0) text.append("e").append(std::to_string(exponent));
  return text;
}

constexpr double slack = 1e-9;  // of a decade, for rounding

std::string power_of_ten(int exponent) {
  constexpr std::array<const char*, 10> digits = {"\u2070", "\u00B9", "\u00B2", "\u00B3", "\u2074",
                                                  "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
  std::string text = exponent < 0 ? "10\u207B" : "10";
  for (const char digit : std::to_string(std::abs(exponent))) {
    text += digits[static_cast<std::size_t>(digit - '0')];
  }
  return text;
}

bool inside(Interval view, double value) {
  return value >= view.low * (1 - slack) && value <= view.high * (1 + slack);
}

void set_round_values(LogTicks& ticks, Interval view, int intervals) {
  const auto values = tick_values(view, intervals);
  const TickTexts texts = tick_texts(values, view);
  ticks.values.clear();
  ticks.labels.clear();
  if (!texts.offset.empty()) {  // a bar of so narrow a view shows its ends
    for (const double value : {view.low, view.high}) {
      ticks.values.push_back(value);
      ticks.labels.push_back(with_minus_signs(with_digits(value, 4)));
    }
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!inside(view, values[i])) continue;
    ticks.values.push_back(values[i]);
    ticks.labels.push_back(texts.labels[i]);
  }
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

TickTexts tick_texts(const std::vector<double>& values, Interval view) {
  TickTexts texts;
  if (values.empty()) return texts;
  const double summand = common_summand(values, view);
  const int exponent = common_exponent(values, view, summand);
  const double unit = std::pow(10.0, exponent);

  std::vector<double> shown;
  shown.reserve(values.size());
  texts.labels.reserve(values.size());
  for (const double value : values) shown.push_back((value - summand) / unit);
  const Interval shown_view = {(view.low - summand) / unit, (view.high - summand) / unit};
  const int decimals = decimals_for(shown, shown_view);
  for (double& value : shown) {
    if (std::abs(value) < 1e-8) value = 0;
    texts.labels.push_back(with_minus_signs(with_decimals(value, decimals)));
  }
  if (exponent != 0) texts.offset.append("1e").append(std::to_string(exponent));
  if (summand != 0) texts.offset += summand_text(summand);
  if (summand == 0) texts.exponent = exponent;
  texts.offset = with_minus_signs(texts.offset);
  return texts;
}

LogTicks log_ticks(Interval view, int intervals) {
  const double lowest = std::log10(view.low), highest = std::log10(view.high);
  const int first = static_cast<int>(std::ceil(lowest - slack));
  const int last = static_cast<int>(std::floor(highest + slack));
  const int step = (last - first) / intervals + 1;
  LogTicks ticks;
  for (int exponent = first; exponent <= last; exponent += step) {
    ticks.values.push_back(std::pow(10.0, exponent));
    ticks.labels.push_back(power_of_ten(exponent));
  }
  if (ticks.values.size() < 2) {
    set_round_values(ticks, view, intervals);
    return ticks;
  }
  for (int exponent = first - 1; exponent <= last; ++exponent) {
    // Between far decades only the decades themselves are marked.
    for (int multiple = step == 1 ? 2 : 10; multiple <= (step == 1 ? 9 : 10); ++multiple) {
      const double value = multiple * std::pow(10.0, exponent);
      if (inside(view, value)) ticks.minor_values.push_back(value);
    }
  }
  return ticks;
}

}  // namespace attn::plot
