#include "support/number_text.hpp"

#include <array>
#include <charconv>

namespace attn {

std::string number_text(double number) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), end};
}

}  // namespace attn
