#include "support/in_quotes.hpp"

#include "support/utf8.hpp"

namespace attn {

std::string in_quotes(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result(1, '"');
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (length == 0 || first < 0x20 || first == 0x7F) {
      result += "\\x";
      result += digits[first >> 4];
      result += digits[first & 15];
      text.remove_prefix(1);
    } else {
      result += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  result += '"';
  return result;
}

}  // namespace attn
