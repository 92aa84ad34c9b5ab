#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "plot/numbers/ticks.hpp"
#include "support/number_text.hpp"

// The rules are those of matplotlib 3.6 (ScalarFormatter with its default settings).

namespace attn::plot {
namespace {

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

}  // namespace

std::string with_minus_signs(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '-') {
      result += "\u2212";
    } else {
      result += c;
    }
  }
  return result;
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
  texts.offset = with_minus_signs(texts.offset);
  return texts;
}

}  // namespace attn::plot
