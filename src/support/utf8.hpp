#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attn {

/// Bytes that some programs write before a text.
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// First character of a text, a Unicode scalar value, and its number of bytes, which is 0 if the
/// text is empty or ill-formed at its start.
struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 0;
};
Utf8Character first_character(std::string_view text) noexcept;

/// Bytes of the first character.
inline std::size_t utf8_length(std::string_view text) noexcept {
  return first_character(text).bytes;
}

/// True for the bytes of a character after its first.
constexpr bool continues_character(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// Appends one character, a Unicode scalar value, as UTF-8.
void append_utf8(std::string& text, char32_t character);

/// Characters of UTF-8 text. Throws Error(input) at `where` with the first byte that is no UTF-8;
/// surrogates and overlong forms are none.
std::u32string characters_of(std::string_view utf8, std::string_view where);

/// Columns of UTF-8 text in a terminal: 2 for a wide character (Chinese…), 0 for a combining one.
std::size_t display_width(std::string_view text);

/// Text with spaces before it (left) or after it (right) up to `width` columns.
std::string padded_left(std::string_view text, std::size_t width);
std::string padded_right(std::string_view text, std::size_t width);

/// Text of at most `width` columns, with an ellipsis in the middle if it was longer.
std::string shortened(std::string_view text, std::size_t width);

}  // namespace attn
