#include "support/utf8.hpp"

#include <string>

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

namespace {

using attn::display_width;
using attn::padded_left;
using attn::padded_right;
using attn::shortened;

TEST_CASE("letters take one column, Chinese ones and emoji two, combining marks none") {
  CHECK(display_width("") == 0);
  CHECK(display_width("attention") == 9);
  CHECK(display_width("Größe") == 5);
  CHECK(display_width("注意力") == 6);
  CHECK(display_width("a注b") == 4);
  CHECK(display_width("e\u0301") == 1);
  CHECK(display_width("😀") == 2);
  CHECK(display_width("q·k / √d_k") == 10);
}

TEST_CASE("bytes that are no UTF-8 take one column each") {
  CHECK(display_width("\xff\xfe") == 2);
  CHECK(display_width("a\xe6\xb3") == 3);  // the start of a three-byte character
  CHECK(display_width("\x80z") == 2);
}

TEST_CASE("padding fills up to a width in columns and never cuts") {
  CHECK(padded_left("ab", 4) == "  ab");
  CHECK(padded_right("ab", 4) == "ab  ");
  CHECK(padded_left("注", 4) == "  注");
  CHECK(padded_right("注", 4) == "注  ");
  CHECK(padded_right("e\u0301", 2) == "e\u0301 ");
  CHECK(padded_left("abc", 2) == "abc");
  CHECK(padded_right("abc", 0) == "abc");
}

TEST_CASE("a text that fits is not shortened") {
  CHECK(shortened("attention", 9) == "attention");
  CHECK(shortened("", 0) == "");
  CHECK(shortened("注意力", 6) == "注意力");
}

TEST_CASE("a text is shortened in its middle") {
  CHECK(shortened("attention", 8) == "atte…ion");
  CHECK(shortened("attention", 5) == "at…on");
  CHECK(shortened("attention", 2) == "a…");
  CHECK(shortened("attention", 1) == "…");
  CHECK(shortened("attention", 0) == "");
}

TEST_CASE("wide characters are kept whole when a text is shortened") {
  CHECK(shortened("注意力机制", 9) == "注意…机制");
  CHECK(shortened("注意力机制", 8) == "注意…制");
  CHECK(shortened("注意力机制", 2) == "…");
}

TEST_CASE("a combining mark stays with its letter when a text is shortened") {
  const std::string accented = "e\u0301";
  CHECK(shortened(accented + accented + accented + accented, 3) == accented + "…" + accented);
  // The x before the last mark does not fit, so its mark goes too.
  CHECK(shortened("abcdx\u0301", 2) == "a…");
}

TEST_CASE("a shortened text never takes more columns than asked for") {
  const std::string text =
      "a注e\u0301b意\xff"
      "c力😀d";
  for (std::size_t width = 0; width <= display_width(text); ++width) {
    CAPTURE(width);
    CHECK(display_width(shortened(text, width)) <= width);
  }
}

}  // namespace
