#include "tokens/byte_letters.hpp"

#include <array>

#include "tokens/characters.hpp"

namespace attn {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<char32_t, 256> letters = [] {
  std::array<char32_t, 256> table{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    table[byte] = stands_for_itself(byte) ? byte : next++;
  }
  return table;
}();

// The byte of each letter, −1 where none has it.
constexpr std::array<int, 0x144> bytes = [] {
  std::array<int, 0x144> table{};
  for (int& byte : table) byte = -1;
  for (unsigned byte = 0; byte < letters.size(); ++byte) {
    table[letters[byte]] = static_cast<int>(byte);
  }
  return table;
}();

}  // namespace

char32_t letter_of_byte(unsigned char byte) {
  return letters[byte];
}

std::optional<std::string> bytes_of_letters(std::string_view letters_of_text) {
  std::string result;
  for (std::size_t at = 0; at < letters_of_text.size();) {
    const char32_t c = next_character(letters_of_text, at);
    if (c >= bytes.size() || bytes[c] < 0) return std::nullopt;
    result += static_cast<char>(bytes[c]);
  }
  return result;
}

}  // namespace attn
