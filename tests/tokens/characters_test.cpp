#include "tokens/characters.hpp"

#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "tokens/stages.hpp"

namespace attn {
namespace {

// The number of characters of a class, and the sum of their code points.
template <class IsIn>
std::string class_of(IsIn&& is_in) {
  std::uint64_t count = 0, sum = 0;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if ((c >= 0xD800 && c < 0xE000) || !is_in(c)) continue;
    ++count;
    sum += c;
  }
  return std::to_string(count) + " " + std::to_string(sum);
}

std::string normalized(const Normalizer& normalize, const std::string& given) {
  AlignedText text;
  text.append(given, {0, static_cast<std::uint32_t>(given.size())});
  MatchBudget budget(given.size());
  normalize(text, budget);
  return text.text;
}

}  // namespace

// Reference: the library's answers for each of the 1,112,064 characters.
TEST_CASE("classes of characters are those of Hugging Face's library") {
  CHECK(class_of(is_white_space) == "25 141586");
  CHECK(class_of(is_punctuation) == "726 20675981");
  CHECK(class_of(is_nonspacing_mark) == "1567 262554314");
  CHECK(class_of(is_combining_mark) == "2097 286880651");
  CHECK(class_of(is_control) == "137683 137913019292");
  CHECK(class_of(is_chinese) == "81264 9171601864");
}

TEST_CASE("every character is lower-cased by itself") {
  CHECK(lower_case(U'Σ').characters[0] == U'σ');
  CHECK(lower_case(U'İ').count == 2);
  CHECK(lower_case(U'ß').characters[0] == U'ß');
}

TEST_CASE("normalization forms order marks, compose and decompose") {
  const UnicodeForm nfc{false, true}, nfd{false, false}, nfkc{true, true}, nfkd{true, false};
  CHECK(normalized(nfd, "ṩ각é") == "s\u0323\u0307\u1100\u1161\u11A8e\u0301");
  CHECK(normalized(nfd, "s\u0307\u0323") == "s\u0323\u0307");
  CHECK(normalized(nfc, "s\u0307\u0323\u1100\u1161\u11A8e\u0301") == "ṩ각é");
  CHECK(normalized(nfc, "a\u0323\u0301\u0301") == "ạ\u0301\u0301");
  CHECK(normalized(nfc, "\u0301e") == "\u0301e");
  CHECK(normalized(nfkc, "ﬁ①Ａｶﾞ") == "fi1Aガ");
  CHECK(normalized(nfkd, "ﬁé") == "fie\u0301");
}

TEST_CASE("very many marks on a letter take time in proportion to their number") {
  std::string marks = "a";
  for (int i = 0; i < 100'000; ++i) marks += i % 2 == 0 ? "\u0301" : "\u0323";
  CHECK(normalized(UnicodeForm{false, false}, marks).size() == marks.size());
}

}  // namespace attn
