#include "support/printable.hpp"

#include "support/number_text.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

std::string escape(char byte) {
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
  return "\\x" + hexadecimal(static_cast<unsigned char>(byte), 2);
}

// Some terminals take U+009B, among those from U+0080 to U+009F, for the start of a command.
bool is_control(char32_t character) {
  return character < 0x20 || (character >= 0x7F && character < 0xA0);
}

// Unicode keeps them out of text, and readers of XML and PDF refuse them.
bool is_noncharacter(char32_t character) {
  return (character & 0xFFFE) == 0xFFFE || (character >= 0xFDD0 && character <= 0xFDEF);
}

// Ends of lines and paragraphs, and what changes the direction of what follows it.
bool is_arranging(char32_t character) {
  return (character >= 0x2028 && character <= 0x202E) ||
         (character >= 0x2066 && character <= 0x2069);
}

// "\uffff", "\U0001ffff".
std::string code_point(char32_t character) {
  return character > 0xFFFF ? "\\U" + hexadecimal(character, 8) : "\\u" + hexadecimal(character, 4);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto [character, length] = first_character(text);
    const std::string_view letter = text.substr(0, length == 0 ? 1 : length);
    if (length == 0 || is_control(character)) {
      result += escape(letter.back());
    } else if (is_noncharacter(character) || is_arranging(character)) {
      result += code_point(character);
    } else {
      result += letter;
    }
    text.remove_prefix(letter.size());
  }
  return result;
}

}  // namespace attn
