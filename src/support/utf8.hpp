#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attn {

/// Bytes of the character that the text starts with; 0 if it starts with none, as it is empty or
/// ill-formed there.
std::size_t utf8_length(std::string_view text) noexcept;

/// Appends one character, a Unicode scalar value, as UTF-8.
void append_utf8(std::string& text, char32_t character);

}  // namespace attn
