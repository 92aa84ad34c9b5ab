#include "support/number_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace attn {
namespace {

// The largest double has 309 digits before the point.
using Digits = std::array<char, 400>;

}  // namespace

std::string number_text(double number) {
  if (std::isnan(number)) return "nan";  // std::to_chars would show its sign
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), end};
}

std::string formatted(const char* format, double number) {
  Digits text{};
  std::snprintf(text.data(), text.size(), format, std::isnan(number) ? std::abs(number) : number);
  return text.data();
}

std::string formatted(const char* format, int precision, double number) {
  Digits text{};
  std::snprintf(text.data(), text.size(), format, precision,
                std::isnan(number) ? std::abs(number) : number);
  return text.data();
}

}  // namespace attn
