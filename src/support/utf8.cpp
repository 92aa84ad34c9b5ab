#include "support/utf8.hpp"

#include <algorithm>
#include <array>

#include <utf8proc.h>

#include "attn/error.hpp"

#include "support/translated.hpp"

namespace attn {

Utf8Character first_character(std::string_view text) noexcept {
  constexpr std::size_t longest = 4;
  utf8proc_int32_t code = 0;
  const auto bytes =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                       static_cast<utf8proc_ssize_t>(std::min(text.size(), longest)), &code);
  if (bytes <= 0) return {};
  return {static_cast<char32_t>(code), static_cast<std::size_t>(bytes)};
}

void append_utf8(std::string& text, char32_t character) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const utf8proc_ssize_t count =
      utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(count));
}

std::u32string characters_of(std::string_view utf8, std::string_view where) {
  std::u32string characters;
  characters.reserve(utf8.size());
  for (std::size_t i = 0; i < utf8.size();) {
    const Utf8Character character = first_character(utf8.substr(i));
    if (character.bytes == 0) {
      throw input_error(translated("byte {1} of the text is no UTF-8", i), std::string(where),
                        translated("write the text in UTF-8"));
    }
    characters.push_back(character.code);
    i += character.bytes;
  }
  return characters;
}

}  // namespace attn
