#include "support/in_quotes.hpp"

namespace attn {

std::string in_quotes(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result(1, '"');
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7F) {
      result += "\\x";
      result += digits[u >> 4];
      result += digits[u & 15];
    } else {
      result += c;
    }
  }
  result += '"';
  return result;
}

}  // namespace attn
