#include "support/printable.hpp"

#include <algorithm>

#include "attn/terminal.hpp"

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

// Some terminals take U+009B, one of the controls U+0080 to U+009F, for the start of a command.
bool is_control(char32_t character) {
  return character < 0x20 || (character >= 0x7F && character < 0xA0);
}

// Characters that Unicode excludes from text; readers of XML and PDF refuse them.
bool is_noncharacter(char32_t character) {
  return (character & 0xFFFE) == 0xFFFE || (character >= 0xFDD0 && character <= 0xFDEF);
}

// Ends of lines and paragraphs, and changes of the direction of text.
bool is_arranging(char32_t character) {
  return (character >= 0x2028 && character <= 0x202E) ||
         (character >= 0x2066 && character <= 0x2069);
}

// "\uffff", "\U0001ffff".
std::string code_point(char32_t character) {
  return character > 0xFFFF ? "\\U" + hexadecimal(character, 8) : "\\u" + hexadecimal(character, 4);
}

// First character of a text or, where it is ill-formed, its first byte: stored and printed.
struct Letter {
  std::string_view stored;
  std::string shown;
};

Letter first_letter(std::string_view text) {
  const auto [character, length] = first_character(text);
  const std::string_view letter = text.substr(0, length == 0 ? 1 : length);
  if (length == 0 || is_control(character)) return {letter, escape(letter.back())};
  if (is_noncharacter(character) || is_arranging(character)) return {letter, code_point(character)};
  return {letter, std::string(letter)};
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const Letter letter = first_letter(text);
    result += letter.shown;
    text.remove_prefix(letter.stored.size());
  }
  return result;
}

std::string terminal_lines(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    result += printable(text.substr(0, end));
    if (end < text.size()) result += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string shown_name(std::string_view name) {
  constexpr std::size_t most = 200;
  std::string result;
  std::size_t characters = 0;
  std::size_t kept = 0;  // bytes of the result that leave room for the ellipsis
  while (!name.empty()) {
    const Letter letter = first_letter(name);
    // An escape is not cut.
    characters += letter.shown.size() > letter.stored.size() ? letter.shown.size() : 1;
    if (characters > most) return result.substr(0, kept) + "…";
    result += letter.shown;
    if (characters < most) kept = result.size();
    name.remove_prefix(letter.stored.size());
  }
  return result;
}

std::string in_quotes(std::string_view text) {
  return '"' + shown_name(text) + '"';
}

namespace {

constexpr std::string_view digits = "0123456789abcdef";
constexpr std::size_t escape_size = 4;

bool starts_with_escape(std::string_view text) {
  return text.size() >= escape_size && text.starts_with("\\x") &&
         digits.find(text[2]) != std::string_view::npos &&
         digits.find(text[3]) != std::string_view::npos;
}

}  // namespace

std::string path_text(std::string_view path) {
  std::string text;
  while (!path.empty()) {
    const std::size_t length = utf8_length(path);
    if (length == 0 || starts_with_escape(path)) {
      const auto byte = static_cast<unsigned char>(path[0]);
      text += {'\\', 'x', digits[byte >> 4U], digits[byte & 15U]};
    } else {
      text += path.substr(0, length);
    }
    path.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

std::string path_of_text(std::string_view text) {
  std::string path;
  while (!text.empty()) {
    const bool escaped = starts_with_escape(text);
    path +=
        escaped ? static_cast<char>(digits.find(text[2]) << 4U | digits.find(text[3])) : text[0];
    text.remove_prefix(escaped ? escape_size : 1);
  }
  return path;
}

}  // namespace attn
