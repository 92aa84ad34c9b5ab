#include "plot/numbers/log_ticks.hpp"

#include <array>
#include <cmath>
#include <cstdlib>

#include "support/number_text.hpp"

namespace attn::plot {
namespace {

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
