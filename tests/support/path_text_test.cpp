#include "support/path_text.hpp"

#include <set>
#include <string>

#include <doctest/doctest.h>

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
