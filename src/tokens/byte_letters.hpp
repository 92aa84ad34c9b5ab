#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// The letter that stands for a byte in byte-level vocabularies (GPT-2's): printing characters of
/// Latin-1 stand for themselves, the other 68 bytes in order for U+0100…U+0143.
char32_t letter_of_byte(unsigned char byte);

/// The bytes that letters stand for; none if one is no such letter.
std::optional<std::string> bytes_of_letters(std::string_view letters);

}  // namespace attn
