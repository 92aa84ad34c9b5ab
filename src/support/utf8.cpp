#include "support/utf8.hpp"

#include <algorithm>
#include <array>
#include <vector>

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
      throw input_error(translated("byte {1} of the text is not UTF-8", i), std::string(where),
                        translated("write the text in UTF-8"));
    }
    characters.push_back(character.code);
    i += character.bytes;
  }
  return characters;
}

namespace {

struct Character {
  std::string_view bytes;
  std::size_t width;
};

// Takes the first character of a text. Each byte that is no UTF-8 is a character of width 1,
// because a terminal shows a replacement.
Character take_character(std::string_view& text) {
  const Utf8Character character = first_character(text);
  const bool valid = character.bytes > 0;
  const std::size_t bytes = valid ? character.bytes : 1;
  const int width = valid ? utf8proc_charwidth(static_cast<utf8proc_int32_t>(character.code)) : 1;
  const Character result{text.substr(0, bytes), static_cast<std::size_t>(std::max(width, 0))};
  text.remove_prefix(bytes);
  return result;
}

bool is_wider(std::string_view text, std::size_t width) {
  std::size_t used = 0;
  while (!text.empty() && used <= width) used += take_character(text).width;
  return used > width;
}

// The last characters of a text, enough for that width.
std::vector<Character> last_characters(std::string_view text, std::size_t width) {
  // Characters of four bytes, each followed by many that take no column.
  const std::size_t enough = 4096 + 64 * width;
  if (text.size() > enough) {
    std::size_t begin = text.size() - enough;
    while (begin > 0 && continues_character(text[begin])) --begin;
    text.remove_prefix(begin);
  }
  std::vector<Character> result;
  while (!text.empty()) result.push_back(take_character(text));
  return result;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) width += take_character(text).width;
  return width;
}

std::string padded_left(std::string_view text, std::size_t width) {
  const std::size_t own = display_width(text);
  return std::string(width > own ? width - own : 0, ' ') + std::string(text);
}

std::string padded_right(std::string_view text, std::size_t width) {
  const std::size_t own = display_width(text);
  return std::string(text) + std::string(width > own ? width - own : 0, ' ');
}

std::string shortened(std::string_view text, std::size_t width) {
  if (!is_wider(text, width)) return std::string(text);
  if (width == 0) return {};
  const std::size_t kept = width - 1;
  const std::size_t front_width = (kept + 1) / 2, back_width = kept - front_width;
  std::string front, back, combining;
  std::size_t used = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const Character character = take_character(rest);
    if (used + character.width > front_width) break;
    used += character.width;
    front += character.bytes;
  }
  const std::vector<Character> last = last_characters(text, back_width);
  used = 0;
  for (auto it = last.rbegin(); it != last.rend(); ++it) {
    // A combining character follows its base character and is kept or dropped with it.
    combining.insert(0, it->bytes);
    if (it->width == 0) continue;
    if (used + it->width > back_width) break;
    used += it->width;
    back.insert(0, combining);
    combining.clear();
  }
  return front + "…" + back;
}

}  // namespace attn
