#include "explain/shown_number.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace attn {
namespace {

constexpr double largest_fixed = 1e6, smallest_fixed = 1e-3;

// Of the explanation that this thread writes.
thread_local int most_decimals = usual_decimals;

// The decimals that lose nothing that float32 could hold; more than `most_decimals` if there are
// too many.
int decimals(double number) {
  const double float32_error = most_decimals > 6 ? std::pow(10.0, -most_decimals) : 1e-7;
  double unit = 1;
  for (int count = 0; count <= most_decimals; ++count, unit *= 10) {
    const double scaled = number * unit;
    if (std::abs(scaled - std::rint(scaled)) <= float32_error * std::abs(scaled)) return count;
  }
  return most_decimals + 1;
}

bool fixed(double number) {
  const double size = std::abs(number);
  if (size >= largest_fixed) return false;
  return size >= smallest_fixed || decimals(number) <= most_decimals;
}

std::string formatted(const char* format, int digits, double number) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), format, digits, number);
  return text.data();
}

std::string with_decimals(double number, int count) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  if (number == 0) return formatted("%.*f", 0, 0);  // never -0; alone it is exact
  if (fixed(number)) return formatted("%.*f", count, number);
  return std::abs(number) < 1 ? formatted("%.*e", most_decimals - 2, number)
                              : formatted("%.*g", most_decimals + 2, number);
}

}  // namespace

ShownDecimals::ShownDecimals(int most) : before_(most_decimals) {
  most_decimals = most;
}

ShownDecimals::~ShownDecimals() {
  most_decimals = before_;
}

std::string shown_number(double number) {
  const int count = std::isfinite(number) ? decimals(number) : 0;
  return with_decimals(number, std::min(count, most_decimals));
}

std::vector<std::string> shown_column(std::span<const double> numbers) {
  int most = 0;
  for (const double number : numbers) {
    if (std::isfinite(number) && fixed(number)) most = std::max(most, decimals(number));
  }
  std::vector<std::string> texts;
  for (const double number : numbers)
    texts.push_back(with_decimals(number, std::min(most, most_decimals)));
  return texts;
}

}  // namespace attn
