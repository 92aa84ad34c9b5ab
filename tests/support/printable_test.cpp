#include "support/printable.hpp"

#include <doctest/doctest.h>

namespace {

using attn::printable;

TEST_CASE("text that is no printable line is made one") {
  CHECK(printable("plain") == "plain");
  CHECK(printable("a\nb\tc\rd") == "a\\nb\\tc\\rd");
  CHECK(printable(std::string("nul\0!", 5)) == "nul\\x00!");
  CHECK(printable("bad \xff\xc3") == "bad \\xff\\xc3");
  CHECK(printable("学习 …") == "学习 …");
}

TEST_CASE("what would command a terminal is escaped") {
  CHECK(printable("a\x1b[31m\x7f") == "a\\x1b[31m\\x7f");
  CHECK(printable("\xC2\x9B"
                  "1m \xC2\xA0") == "\\x9b1m \xC2\xA0");
  CHECK(printable("größe 注意 😀") == "größe 注意 😀");
}

TEST_CASE("what Unicode keeps out of text is escaped") {
  CHECK(printable("a\xEF\xBF\xBF"
                  "b \xEF\xBF\xBE \xEF\xB7\x90 \xEF\xB7\xAF") ==
        "a\\uffffb \\ufffe \\ufdd0 \\ufdef");
  CHECK(printable("\xF0\x9F\xBF\xBF \xF4\x8F\xBF\xBE") == "\\U0001ffff \\U0010fffe");
  CHECK(printable("\xEF\xBF\xBD \xEF\xB7\x8F \xEF\xB7\xB0") == "\uFFFD \uFDCF \uFDF0");
}

TEST_CASE("what changes the direction of text or ends lines and paragraphs is escaped") {
  CHECK(printable("a\u202Eb\u2028c\u2069") == "a\\u202eb\\u2028c\\u2069");
  CHECK(printable("\u2027\u202F\u2065\u206A\u200F") == "\u2027\u202F\u2065\u206A\u200F");
}

}  // namespace
