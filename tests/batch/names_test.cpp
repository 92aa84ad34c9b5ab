#include "batch/names.hpp"

#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using attn::NameChoice;
using attn::unlike_names;
using Names = std::vector<std::string>;

TEST_CASE("a document's name is where it stands, without its extension") {
  CHECK(unlike_names({{"a.json", "docs/a.json", ""}, {"sub/b.json", "docs/sub/b.json", ""}}) ==
        Names{"a", "sub/b"});
  CHECK(unlike_names({{"many.jsonl", "many.jsonl", ".000012"}}) == Names{"many.000012"});
  CHECK(unlike_names({{"notes.txt", "notes.txt", ""}, {".json", ".json", ""}}) ==
        Names{"notes.txt", ".json"});
}

TEST_CASE("documents of one name are told apart by their whole paths") {
  CHECK(unlike_names(
            {{"a.json", "x/a.json", ""}, {"a.json", "y/a.json", ""}, {"b.json", "y/b.json", ""}}) ==
        Names{"x/a", "y/a", "b"});
}

TEST_CASE("documents of one path but for the extension keep it, and further ones are counted") {
  CHECK(unlike_names({{"a", "a", ""}, {"a.json", "a.json", ""}}) == Names{"a", "a.json"});
  CHECK(unlike_names(
            {{"a.json", "a.json", ""}, {"a.json", "a.json", ""}, {"a.json", "a.json", ""}}) ==
        Names{"a", "a.json", "a.json~2"});
}

TEST_CASE("no name lies inside another, whose results are in that folder") {
  const Names names = unlike_names({{"a.json", "a.json", ""},
                                    {"a/self.json", "a/self.json", ""},
                                    {"a/self/b.json", "a/self/b.json", ""}});
  CHECK(names == Names{"a.json", "a/self.json", "a/self/b"});
}

TEST_CASE("no name is that of a summary") {
  CHECK(unlike_names({{"summary.jsonl.json", "summary.jsonl.json", ""},
                      {"summary.0-of-2.jsonl.json", "x/summary.0-of-2.jsonl.json", ""},
                      {"sub/summary.jsonl.json", "sub/summary.jsonl.json", ""}}) ==
        Names{"summary.jsonl.json", "summary.0-of-2.jsonl.json", "sub/summary.jsonl"});
}

TEST_CASE("a name that looks like a line of another document is told apart from it") {
  const Names names =
      unlike_names({{"d.jsonl", "d.jsonl", ".000001"}, {"d.000001.json", "d.000001.json", ""}});
  CHECK(names.size() == 2);
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == 2);
}
