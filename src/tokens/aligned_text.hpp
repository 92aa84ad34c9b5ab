#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/token_table.hpp"

namespace attn {

/// Bytes [begin, end) of the text that was given: whole characters of it.
struct Origin {
  std::uint32_t begin = 0, end = 0;
};

/// The smallest stretch that holds both.
Origin united(Origin a, Origin b);

/// Text on its way to the model, each byte with what it came from.
struct AlignedText {
  std::string text;
  std::vector<Origin> origins;  // one a byte

  /// As much text as is taken to the model, in bytes, after normalization too.
  static constexpr std::size_t most_bytes = std::size_t{4} << 20;

  /// Throws Error(input) if there is no room left.
  void append(char32_t character, Origin origin);
  void append(std::string_view characters, Origin origin);
  void append(const AlignedText& other, std::size_t begin, std::size_t end);
  void reserve(std::size_t bytes);

  /// What bytes [begin, end) came from; they are not empty.
  Origin origin(std::size_t begin, std::size_t end) const;
};

/// Calls use(character, begin, end) for each character of well-formed text.
template <class Use>
void for_each_character(std::string_view text, Use&& use);

/// Aligned text cut into parts in order. What lies between them is dropped.
struct SplitText : AlignedText {
  struct Part {
    std::size_t begin, end;        // of the text
    std::optional<TokenId> token;  // of parts that are settled
  };
  std::vector<Part> parts;

  std::string_view part(const Part& p) const {
    return std::string_view(text).substr(p.begin, p.end - p.begin);
  }
};

}  // namespace attn

#include "tokens/characters.hpp"

template <class Use>
void attn::for_each_character(std::string_view text, Use&& use) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t character = next_character(text, at);
    use(character, begin, at);
  }
}
