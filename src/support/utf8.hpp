#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attn {

/// What some programs put before a text.
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// The character that the text starts with, a Unicode scalar value, and its bytes: 0 if it starts
/// with none, as it is empty or ill-formed there.
struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 0;
};
Utf8Character first_character(std::string_view text) noexcept;

/// Its bytes alone.
inline std::size_t utf8_length(std::string_view text) noexcept {
  return first_character(text).bytes;
}

/// Whether the byte is one of a character's after its first.
constexpr bool continues_character(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// Appends one character, a Unicode scalar value, as UTF-8.
void append_utf8(std::string& text, char32_t character);

/// The characters of UTF-8 text. Throws Error(input) naming the first byte that is no UTF-8
/// (surrogates and overlong forms included), at `where`.
std::u32string characters_of(std::string_view utf8, std::string_view where);

}  // namespace attn
