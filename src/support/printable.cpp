#include "support/printable.hpp"

#include <array>
#include <cstdio>

#include <utf8proc.h>

#include "support/utf8.hpp"

namespace attn {
namespace {

std::string escape(char byte) {
  constexpr char digits[] = "0123456789abcdef";
  switch (byte) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      break;
  }
  const auto number = static_cast<unsigned char>(byte);
  return {'\\', 'x', digits[number >> 4], digits[number & 15]};
}

// Some terminals take U+009B, among those from U+0080 to U+009F, for the start of a command.
bool is_control(std::string_view letter) {
  const auto first = static_cast<unsigned char>(letter[0]);
  return first < 0x20 || first == 0x7F ||
         (letter.size() == 2 && first == 0xC2 && static_cast<unsigned char>(letter[1]) < 0xA0);
}

// Unicode keeps them out of text, and readers of XML and PDF refuse them.
bool is_noncharacter(utf8proc_int32_t character) {
  return (character & 0xFFFE) == 0xFFFE || (character >= 0xFDD0 && character <= 0xFDEF);
}

// Ends of lines and paragraphs, and what changes the direction of what follows it.
bool is_arranging(utf8proc_int32_t character) {
  return (character >= 0x2028 && character <= 0x202E) ||
         (character >= 0x2066 && character <= 0x2069);
}

utf8proc_int32_t character_of(std::string_view letter) {
  utf8proc_int32_t character = 0;
  utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(letter.data()),
                   static_cast<utf8proc_ssize_t>(letter.size()), &character);
  return character;
}

// "\uffff", "\U0001ffff".
std::string code_point(utf8proc_int32_t character) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), character > 0xFFFF ? "\\U%08x" : "\\u%04x",
                static_cast<unsigned>(character));
  return text.data();
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view letter = text.substr(0, length == 0 ? 1 : length);
    if (length == 0 || is_control(letter)) {
      result += escape(letter.back());
    } else if (length > 2 &&
               (is_noncharacter(character_of(letter)) || is_arranging(character_of(letter)))) {
      result += code_point(character_of(letter));
    } else {
      result += letter;
    }
    text.remove_prefix(letter.size());
  }
  return result;
}

}  // namespace attn
