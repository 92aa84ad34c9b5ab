#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

// Classes of characters as Hugging Face's tokenizers (0.22) have them. Some of that library's
// tables are those of Unicode 8 or 9, in which later characters are unassigned; so they are here.

/// Unicode's White_Space.
bool is_white_space(char32_t c);

/// Categories Nd, Nl and No.
bool is_numeric(char32_t c);

/// Categories P* of Unicode 8, and ASCII's symbols ($ + < = > ^ ` | ~).
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

/// A text in lower case, character by character; Σ after a letter and before none is ς.
std::string lower_cased(std::string_view text);

/// Writes the full decomposition of a character to `parts`, canonical or with `compatibility` the
/// compatibility one, marks not yet ordered. Returns the number of its characters.
constexpr std::size_t longest_decomposition = 18;
std::size_t decompose(char32_t c, bool compatibility,
                      std::array<char32_t, longest_decomposition>& parts);

/// Canonical_Combining_Class.
int combining_class(char32_t c);

/// The primary composite of two characters; 0 if there is none.
char32_t composite(char32_t first, char32_t second);

/// The character at byte `at` of well-formed UTF-8 text. Moves `at` to the next character.
char32_t next_character(std::string_view text, std::size_t& at);

/// Calls use(character, begin, end) for each character of well-formed UTF-8 text and its bytes
/// [begin, end).
template <class Use>
void for_each_character(std::string_view text, Use&& use) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t character = next_character(text, at);
    use(character, begin, at);
  }
}

/// The letter that stands for a byte in byte-level vocabularies (GPT-2's): printing characters of
/// Latin-1 stand for themselves, U+0100…U+0143 in order for the other 68 bytes.
char32_t letter_of_byte(unsigned char byte);

/// The bytes that letters stand for; none if one is no such letter.
std::optional<std::string> bytes_of_letters(std::string_view letters);

}  // namespace attn
