#include "support/printable.hpp"

#include <set>
#include <string>

#include <doctest/doctest.h>

#include "attn/terminal.hpp"

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

using attn::path_of_text;
using attn::path_text;

TEST_CASE("a path that is UTF-8 is its own text, and other bytes stand as escapes") {
  CHECK(path_text("docs/größe 注意.json") == "docs/größe 注意.json");
  CHECK(path_text(R"(back\slash \xFF \x5)") == R"(back\slash \xFF \x5)");
  CHECK(path_text("a\xff/\xc3.json") == R"(a\xff/\xc3.json)");
}

TEST_CASE("different paths have different texts, which lead back to them") {
  std::set<std::string> texts;
  const std::set<std::string> paths{"a\xff",       R"(a\xff)",  R"(a\x5cxff)",
                                    "a\\\xff",     R"(a\\xff)", "\xed\xa0\x80",
                                    R"(\x5c\xff)", "",          "\n"};
  for (const std::string& path : paths) {
    CAPTURE(path);
    CHECK(path_of_text(path_text(path)) == path);
    texts.insert(path_text(path));
  }
  CHECK(texts.size() == paths.size());
}

TEST_CASE("a name is shown by at most 200 characters, and no escape is cut") {
  const std::string most(200, 'x');
  CHECK(shown_name(most) == most);
  CHECK(shown_name(most + "x") == std::string(199, 'x') + "…");
  std::string letters;
  for (int i = 0; i < 300; ++i) letters += "字";
  std::string fewer;
  for (int i = 0; i < 199; ++i) fewer += "字";
  CHECK(shown_name(letters) == fewer + "…");
  CHECK(shown_name(std::string(197, 'x') + "\x1b!") == std::string(197, 'x') + "…");
  CHECK(shown_name(std::string(196, 'x') + "\x1b") == std::string(196, 'x') + "\\x1b");
  CHECK(in_quotes(std::string(10'000'000, 'x')).size() == 199 + 5);
}

TEST_CASE("lines for a terminal keep their ends and nothing else that it obeys") {
  CHECK(terminal_lines("a\n\nb\x1b[31m\tc\n") == "a\n\nb\\x1b[31m\\tc\n");
  CHECK(terminal_lines("") == "");
  CHECK(terminal_lines("\u202Ex \xC2\x9B\xFF") == "\\u202ex \\x9b\\xff");
}
