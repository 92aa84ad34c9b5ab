#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace attn {

// Classes of characters as Hugging Face's tokenizers (0.22) know them. Some of the tables that it
// stands on are those of Unicode 8 or 9; what later versions added counts as unassigned there, and
// so it does here.

/// Unicode's White_Space.
bool is_white_space(char32_t c);

/// Categories Nd, Nl and No.
bool is_numeric(char32_t c);

/// Categories P* of Unicode 8, and ASCII's symbols ($ + < = > ^ ` | ~) too.
bool is_punctuation(char32_t c);

/// Category Mn of Unicode 8.
bool is_nonspacing_mark(char32_t c);

/// Categories M* of Unicode 9.
bool is_combining_mark(char32_t c);

/// Categories Cc, Cf and Co of Unicode 8. Unassigned characters are none of them.
bool is_control(char32_t c);

/// Whether BERT takes the character for a Chinese one, a word of its own.
bool is_chinese(char32_t c);

/// One or two characters.
struct ShortText {
  std::array<char32_t, 2> characters;
  std::size_t count;
};

/// Unicode's full mapping to lower case without context: only İ becomes two characters.
ShortText lower_case(char32_t c);

/// The canonical (or, with `compatibility`, the compatibility) decomposition of one character, in
/// full but not ordered. It is written to `parts`, which has room for it; their number is returned.
constexpr std::size_t longest_decomposition = 18;
std::size_t decompose(char32_t c, bool compatibility,
                      std::array<char32_t, longest_decomposition>& parts);

/// Canonical_Combining_Class.
int combining_class(char32_t c);

/// The primary composite of two characters; 0 if there is none.
char32_t composite(char32_t first, char32_t second);

/// The character that well-formed UTF-8 text begins with at byte `at`, which moves behind it.
char32_t next_character(std::string_view text, std::size_t& at);

}  // namespace attn
