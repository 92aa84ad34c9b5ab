#include "support/in_quotes.hpp"

#include <doctest/doctest.h>

using namespace attn;

TEST_CASE("text in quotes keeps what can be printed") {
  CHECK(in_quotes("") == "\"\"");
  CHECK(in_quotes("größe 注意 \"x\" a\\b") == "\"größe 注意 \"x\" a\\b\"");
}

TEST_CASE("text in quotes shows what would act on a terminal") {
  CHECK(in_quotes("a\x1b[31m\n\x7f") == "\"a\\x1b[31m\\n\\x7f\"");
  CHECK(in_quotes(std::string_view("\0", 1)) == "\"\\x00\"");
  CHECK(in_quotes("a\xC2\x9B[m") == "\"a\\x9b[m\"");
}

TEST_CASE("text in quotes shows bytes that are not UTF-8") {
  CHECK(in_quotes("a\xff\xc3") == "\"a\\xff\\xc3\"");
  CHECK(in_quotes("\xed\xa0\x80") == "\"\\xed\\xa0\\x80\"");  // half of a surrogate pair
}
