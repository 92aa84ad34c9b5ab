#include "support/number_text.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace attn {

std::string number_text(double number) {
  if (std::isnan(number)) return "nan";  // std::to_chars would show its sign
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), end};
}

}  // namespace attn
