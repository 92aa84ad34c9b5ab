#include "tokens/aligned_text.hpp"

#include <algorithm>

#include "attn/error.hpp"

#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

void expect_room(std::size_t bytes) {
  if (bytes <= AlignedText::most_bytes) return;
  throw input_error(translated("the text is longer than 4 MiB once it is normalized"), "",
                    translated("give less text at a time"));
}

}  // namespace

Origin united(Origin a, Origin b) {
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

void AlignedText::append(char32_t character, Origin origin) {
  append_utf8(text, character);
  expect_room(text.size());
  origins.resize(text.size(), origin);
}

void AlignedText::append(std::string_view characters, Origin origin) {
  expect_room(text.size() + characters.size());
  text += characters;
  origins.resize(text.size(), origin);
}

void AlignedText::append(const AlignedText& other, std::size_t begin, std::size_t end) {
  expect_room(text.size() + (end - begin));
  text.append(other.text, begin, end - begin);
  origins.insert(origins.end(), other.origins.begin() + static_cast<std::ptrdiff_t>(begin),
                 other.origins.begin() + static_cast<std::ptrdiff_t>(end));
}

void AlignedText::reserve(std::size_t bytes) {
  text.reserve(bytes);
  origins.reserve(bytes);
}

Origin AlignedText::origin(std::size_t begin, std::size_t end) const {
  Origin result = origins[begin];
  for (std::size_t i = begin + 1; i < end; ++i) result = united(result, origins[i]);
  return result;
}

}  // namespace attn
