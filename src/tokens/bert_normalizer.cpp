#include "tokens/bert_normalizer.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <utf8proc.h>

namespace attn {
namespace {

utf8proc_category_t category(char32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

bool is_white_space(char32_t c) {
  if (c == U'\t' || c == U'\n' || c == U'\r') return true;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return true;
    default:
      return false;
  }
}

bool is_dropped(char32_t c) {
  constexpr char32_t replacement_character = 0xFFFD;
  if (c == replacement_character) return true;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:
      return true;
    default:
      return false;
  }
}

// The blocks CJK Unified Ideographs, its Extension A, and CJK Compatibility Ideographs.
bool is_chinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0xF900 && c <= 0xFAFF);
}

std::u32string cleaned(std::u32string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (const char32_t c : text) {
    if (is_white_space(c)) {
      result += U' ';
    } else if (is_dropped(c)) {
      continue;
    } else if (is_chinese(c)) {
      result += {U' ', c, U' '};
    } else {
      result += c;
    }
  }
  return result;
}

// Unicode's Case_Ignorable: four categories, and Word_Break = MidLetter, MidNumLet or Single_Quote
// (The Unicode Standard, section 3.13, D136).
bool is_case_ignorable(char32_t c) {
  constexpr std::array<char32_t, 17> within_words = {0x0027, 0x002E, 0x003A, 0x00B7, 0x0387, 0x055F,
                                                     0x05F4, 0x2018, 0x2019, 0x2024, 0x2027, 0xFE13,
                                                     0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return std::binary_search(within_words.begin(), within_words.end(), c);
  }
}

// Unicode's Cased, as far as it is not also Case_Ignorable: three categories, Other_Lowercase and
// Other_Uppercase (section 3.13, D135; PropList.txt).
bool is_cased(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
      return true;
    default:
      return c == 0x00AA || c == 0x00BA || (c >= 0x2160 && c <= 0x217F) ||
             (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
             (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
  }
}

// Unicode's Final_Sigma (section 3.13, table 3-17): a cased letter before the character and none
// after it, whatever case-ignorable ones lie between.
bool ends_word(std::u32string_view text, std::size_t i) {
  const auto before = std::find_if_not(text.rbegin() + static_cast<std::ptrdiff_t>(text.size() - i),
                                       text.rend(), is_case_ignorable);
  if (before == text.rend() || !is_cased(*before)) return false;
  const auto after = std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(i + 1), text.end(),
                                      is_case_ignorable);
  return after == text.end() || !is_cased(*after);
}

void lower_case(std::u32string& text) {
  constexpr char32_t capital_sigma = 0x03A3, final_sigma = 0x03C2;
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = text[i] == capital_sigma && ends_word(text, i)
                  ? final_sigma
                  : static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(text[i])));
  }
}

utf8proc_propval_t combining_class(char32_t character) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(character))->combining_class;
}

void append_decomposed(std::u32string& text, char32_t character) {
  std::array<utf8proc_int32_t, 8> parts{};  // no canonical decomposition is longer than 4
  int boundary = 0;
  const utf8proc_ssize_t count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(character), parts.data(), parts.size(),
                              UTF8PROC_DECOMPOSE, &boundary);
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    text += static_cast<char32_t>(parts[static_cast<std::size_t>(i)]);
  }
}

// Normalization form D. The marks of a letter are sorted here, since utf8proc's own sort takes
// quadratic time for a letter with very many marks.
std::u32string canonically_decomposed(std::u32string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (const char32_t c : text) append_decomposed(result, c);
  const auto is_starter = [](char32_t c) { return combining_class(c) == 0; };
  for (auto first = result.begin(); first != result.end();) {
    const auto end = std::find_if(first, result.end(), is_starter);
    std::stable_sort(
        first, end, [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
    first = std::find_if_not(end, result.end(), is_starter);
  }
  return result;
}

}  // namespace

std::u32string bert_normalized(std::u32string_view text, bool lowercase) {
  std::u32string result = cleaned(text);
  if (!lowercase) return result;
  lower_case(result);
  result = canonically_decomposed(result);
  std::erase_if(result, [](char32_t c) { return category(c) == UTF8PROC_CATEGORY_MN; });
  return result;
}

bool is_bert_punctuation(char32_t c) {
  if ((c >= U'!' && c <= U'/') || (c >= U':' && c <= U'@') || (c >= U'[' && c <= U'`') ||
      (c >= U'{' && c <= U'~')) {
    return true;
  }
  switch (category(c)) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return true;
    default:
      return false;
  }
}

}  // namespace attn
