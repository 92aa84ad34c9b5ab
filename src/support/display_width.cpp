#include "support/display_width.hpp"

#include <algorithm>
#include <vector>

#include <utf8proc.h>

#include "support/utf8.hpp"

namespace attn {
namespace {

struct Character {
  std::string_view bytes;
  std::size_t width;
};

// Bytes that are no UTF-8 count as one character of width 1 each: a terminal shows a replacement
// for them.
std::vector<Character> characters(std::string_view text) {
  std::vector<Character> result;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const bool valid = character.bytes > 0;
    const std::size_t bytes = valid ? character.bytes : 1;
    const int width = valid ? utf8proc_charwidth(static_cast<utf8proc_int32_t>(character.code)) : 1;
    result.push_back({text.substr(0, bytes), static_cast<std::size_t>(std::max(width, 0))});
    text.remove_prefix(bytes);
  }
  return result;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const Character& character : characters(text)) width += character.width;
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
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  const std::vector<Character> all = characters(text);
  const std::size_t kept = width - 1;
  const std::size_t front_width = (kept + 1) / 2, back_width = kept - front_width;
  std::string front, back, combining;
  std::size_t used = 0;
  for (const Character& character : all) {
    if (used + character.width > front_width) break;
    used += character.width;
    front += character.bytes;
  }
  used = 0;
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    // A combining character comes after the one it belongs to, and stays or goes with it.
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
