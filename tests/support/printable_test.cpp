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

}  // namespace
