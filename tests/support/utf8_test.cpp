#include "support/utf8.hpp"

#include <doctest/doctest.h>

using namespace attn;

TEST_CASE("a character of UTF-8 takes one to four bytes") {
  CHECK(utf8_length("abc") == 1);
  CHECK(utf8_length("éa") == 2);
  CHECK(utf8_length("注a") == 3);
  CHECK(utf8_length("🙂a") == 4);
  CHECK(utf8_length(std::string_view("\0", 1)) == 1);
}

TEST_CASE("ill-formed UTF-8 has no length") {
  CHECK(utf8_length("") == 0);
  CHECK(utf8_length("\x80") == 0);
  CHECK(utf8_length("\xc3") == 0);
  CHECK(utf8_length("\xe6\xb3") == 0);
  CHECK(utf8_length("\xc0\xaf") == 0);          // longer than need be
  CHECK(utf8_length("\xed\xa0\x80") == 0);      // a surrogate
  CHECK(utf8_length("\xf4\x90\x80\x80") == 0);  // beyond U+10FFFF
}
