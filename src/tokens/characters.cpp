#include "tokens/characters.hpp"

#include <algorithm>
#include <span>

#include <utf8proc.h>

#include "support/utf8.hpp"

namespace attn {
namespace {

struct Range {
  char32_t first, last;
};

// Marks, punctuation, format and compatibility characters that Unicode 9, and 10 to 15, added or
// changed. Hugging Face's library was asked for every character; it disagrees with utf8proc's
// tables of Unicode 15 on these. Ranges may hold characters of other kinds.
constexpr std::array since_unicode_9 = {
    Range{0x8D4, 0x8E1},     Range{0x1885, 0x1886},   Range{0x1DFB, 0x1DFB},
    Range{0xA8C5, 0xA8C5},   Range{0xA9BD, 0xA9BD},   Range{0x1123E, 0x1123E},
    Range{0x11438, 0x1143F}, Range{0x11442, 0x11444}, Range{0x11446, 0x11446},
    Range{0x11C30, 0x11C3D}, Range{0x11C3F, 0x11C3F}, Range{0x11C92, 0x11CA7},
    Range{0x11CAA, 0x11CB0}, Range{0x11CB2, 0x11CB3}, Range{0x11CB5, 0x11CB6},
    Range{0x1E000, 0x1E02A}, Range{0x1E944, 0x1E94A}};
constexpr std::array since_unicode_10 = {
    Range{0x61D, 0x61D},     Range{0x7FD, 0x7FD},     Range{0x890, 0x8D3},
    Range{0x8E2, 0x8E2},     Range{0x9FD, 0x9FE},     Range{0xA76, 0xA76},
    Range{0xAFA, 0xAFF},     Range{0xB55, 0xB55},     Range{0xC04, 0xC3C},
    Range{0xC77, 0xC77},     Range{0xC84, 0xC84},     Range{0xCF3, 0xD00},
    Range{0xD3B, 0xD3C},     Range{0xD81, 0xD81},     Range{0xEBA, 0xEBA},
    Range{0xECE, 0xECE},     Range{0x1715, 0x1715},   Range{0x180F, 0x180F},
    Range{0x1ABF, 0x1ACE},   Range{0x1B7D, 0x1B7E},   Range{0x1CF7, 0x1CF7},
    Range{0x1DF6, 0x1DFA},   Range{0x2E43, 0x2E5D},   Range{0x32FF, 0x32FF},
    Range{0xA7F2, 0xA7F4},   Range{0xA82C, 0xA82C},   Range{0xA8FF, 0xA8FF},
    Range{0xAB69, 0xAB69},   Range{0x10781, 0x107BA}, Range{0x10D24, 0x10F89},
    Range{0x11070, 0x11074}, Range{0x110C2, 0x110CD}, Range{0x11145, 0x11146},
    Range{0x111C9, 0x111C9}, Range{0x111CE, 0x111CF}, Range{0x11241, 0x11241},
    Range{0x1133B, 0x1133B}, Range{0x1144B, 0x1145E}, Range{0x11660, 0x1166C},
    Range{0x116B9, 0x116B9}, Range{0x1182C, 0x11B09}, Range{0x11C41, 0x11C71},
    Range{0x11D31, 0x11FFF}, Range{0x12FF1, 0x13455}, Range{0x16E97, 0x16F4F},
    Range{0x16F7F, 0x16F87}, Range{0x16FE2, 0x16FF1}, Range{0x1CF00, 0x1CF46},
    Range{0x1E030, 0x1E4EF}, Range{0x1E95E, 0x1E95F}, Range{0x1F16C, 0x1F16C},
    Range{0x1FBF0, 0x1FBF9}};

bool is_in(std::span<const Range> ranges, char32_t c) {
  const auto range = std::lower_bound(ranges.begin(), ranges.end(), c,
                                      [](const Range& r, char32_t x) { return r.last < x; });
  return range != ranges.end() && range->first <= c;
}

bool newer_than_unicode_9(char32_t c) {
  return c >= since_unicode_10[0].first && is_in(since_unicode_10, c);
}

bool newer_than_unicode_8(char32_t c) {
  return newer_than_unicode_9(c) || is_in(since_unicode_9, c);
}

utf8proc_int32_t number(char32_t c) {
  return static_cast<utf8proc_int32_t>(c);
}

bool is_category(char32_t c, utf8proc_category_t first, utf8proc_category_t last) {
  const utf8proc_category_t category = utf8proc_category(number(c));
  return category >= first && category <= last;
}

constexpr bool is_ascii(char32_t c) {
  return c < 0x80;
}

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<char32_t, 256> byte_letters = [] {
  std::array<char32_t, 256> table{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    table[byte] = stands_for_itself(byte) ? byte : next++;
  }
  return table;
}();

// The byte of each letter; −1 for letters that stand for none.
constexpr std::array<int, 0x144> letter_bytes = [] {
  std::array<int, 0x144> table{};
  for (int& byte : table) byte = -1;
  for (unsigned byte = 0; byte < byte_letters.size(); ++byte) {
    table[byte_letters[byte]] = static_cast<int>(byte);
  }
  return table;
}();

}  // namespace

bool is_white_space(char32_t c) {
  if (is_ascii(c)) return c == U' ' || (c >= U'\t' && c <= U'\r');
  return c == 0x85 || is_category(c, UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP);
}

bool is_numeric(char32_t c) {
  if (is_ascii(c)) return c >= U'0' && c <= U'9';
  return is_category(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}

bool is_punctuation(char32_t c) {
  if (is_ascii(c)) {
    return (c >= U'!' && c <= U'/') || (c >= U':' && c <= U'@') || (c >= U'[' && c <= U'`') ||
           (c >= U'{' && c <= U'~');
  }
  if (c == 0x166D || c == 0x111C9) return true;  // symbol and mark in Unicode 15
  return is_category(c, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO) && !newer_than_unicode_8(c);
}

bool is_nonspacing_mark(char32_t c) {
  if (is_ascii(c)) return false;
  if (c == 0x1734) return true;  // spacing in Unicode 15
  return is_category(c, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_MN) && !newer_than_unicode_8(c);
}

bool is_combining_mark(char32_t c) {
  if (is_ascii(c)) return false;
  if (c == 0x1CF2 || c == 0x1CF3) return true;  // letters in Unicode 15
  return is_category(c, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME) && !newer_than_unicode_9(c);
}

bool is_control(char32_t c) {
  if (is_ascii(c)) return c < 0x20 || c == 0x7F;
  const utf8proc_category_t category = utf8proc_category(number(c));
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CO ||
         (category == UTF8PROC_CATEGORY_CF && !newer_than_unicode_8(c));
}

// Ideographs of Hugging Face's table, in which the last extension begins at 0x2B920 though its
// block begins at 0x2B820.
bool is_chinese(char32_t c) {
  constexpr std::array blocks = {Range{0x3400, 0x4DBF},   Range{0x4E00, 0x9FFF},
                                 Range{0xF900, 0xFAFF},   Range{0x20000, 0x2A6DF},
                                 Range{0x2A700, 0x2B73F}, Range{0x2B740, 0x2B81F},
                                 Range{0x2B920, 0x2CEAF}, Range{0x2F800, 0x2FA1F}};
  return c >= blocks[0].first && is_in(blocks, c);
}

ShortText lower_case(char32_t c) {
  constexpr char32_t capital_dotted_i = 0x130, dot_above = 0x307;
  if (c == capital_dotted_i) return {{U'i', dot_above}, 2};
  return {{static_cast<char32_t>(utf8proc_tolower(number(c))), 0}, 1};
}

std::string lower_cased(std::string_view text) {
  constexpr char32_t capital_sigma = 0x3A3, final_sigma = 0x3C2;
  const auto is_letter = [](char32_t c) {
    return is_category(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO);
  };
  std::string result;
  bool after_letter = false;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    std::size_t next = at;
    const bool goes_on = at < text.size() && is_letter(next_character(text, next));
    if (c == capital_sigma && after_letter && !goes_on) {
      append_utf8(result, final_sigma);
    } else {
      const ShortText lower = lower_case(c);
      for (std::size_t i = 0; i < lower.count; ++i) append_utf8(result, lower.characters[i]);
    }
    after_letter = is_letter(c);
  }
  return result;
}

std::size_t decompose(char32_t c, bool compatibility,
                      std::array<char32_t, longest_decomposition>& parts) {
  if (is_ascii(c) || newer_than_unicode_9(c)) {
    parts[0] = c;
    return 1;
  }
  std::array<utf8proc_int32_t, longest_decomposition> found{};
  int boundary = 0;
  const int options = UTF8PROC_DECOMPOSE | (compatibility ? UTF8PROC_COMPAT : 0);
  const utf8proc_ssize_t count = utf8proc_decompose_char(
      number(c), found.data(), found.size(), static_cast<utf8proc_option_t>(options), &boundary);
  std::copy_n(found.begin(), count, parts.begin());
  return static_cast<std::size_t>(count);
}

int combining_class(char32_t c) {
  if (is_ascii(c) || newer_than_unicode_9(c)) return 0;
  return utf8proc_get_property(number(c))->combining_class;
}

char32_t composite(char32_t first, char32_t second) {
  // No character below U+0300 is the second of any.
  if (second < 0x300) return 0;
  std::array<utf8proc_int32_t, 3> both = {number(first), number(second), 0};
  const utf8proc_ssize_t count = utf8proc_normalize_utf32(
      both.data(), 2, static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  const auto composed = static_cast<char32_t>(both[0]);
  return count == 1 && !newer_than_unicode_9(composed) ? composed : 0;
}

char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  const char32_t first = byte(0);
  char32_t c = first;
  std::size_t length = 1;
  if (first >= 0xF0) {
    c = ((first & 0x07) << 18) | ((byte(1) & 0x3F) << 12) | ((byte(2) & 0x3F) << 6) |
        (byte(3) & 0x3F);
    length = 4;
  } else if (first >= 0xE0) {
    c = ((first & 0x0F) << 12) | ((byte(1) & 0x3F) << 6) | (byte(2) & 0x3F);
    length = 3;
  } else if (first >= 0x80) {
    c = ((first & 0x1F) << 6) | (byte(1) & 0x3F);
    length = 2;
  }
  at += length;
  return c;
}

char32_t letter_of_byte(unsigned char byte) {
  return byte_letters[byte];
}

std::optional<std::string> bytes_of_letters(std::string_view letters) {
  std::string result;
  for (std::size_t at = 0; at < letters.size();) {
    const char32_t c = next_character(letters, at);
    if (c >= letter_bytes.size() || letter_bytes[c] < 0) return std::nullopt;
    result += static_cast<char>(letter_bytes[c]);
  }
  return result;
}

}  // namespace attn
