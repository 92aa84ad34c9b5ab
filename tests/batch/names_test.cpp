#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "batch/items.hpp"

namespace {

using Names = std::vector<std::string>;

struct NameChoice {
  std::string below, whole, line;
};

Names unlike_names(const std::vector<NameChoice>& choices) {
  const attn::UnlikeNames names({choices.size(), [&](std::size_t i) { return choices[i].below; },
                                 [&](std::size_t i) { return choices[i].whole; },
                                 [&](std::size_t i) { return choices[i].line; }});
  Names all;
  for (std::size_t i = 0; i < choices.size(); ++i) all.push_back(names[i]);
  return all;
}

}  // namespace

TEST_CASE("a document's name is where it stands, without its extension") {
  CHECK(unlike_names({{"a.json", "docs/a.json", ""}, {"sub/b.json", "docs/sub/b.json", ""}}) ==
        Names{"a", "sub/b"});
  CHECK(unlike_names({{"many.jsonl", "many.jsonl", ".000012"}}) == Names{"many.000012"});
  CHECK(unlike_names({{"notes.txt", "notes.txt", ""}, {".json", ".json", ""}}) ==
        Names{"notes.txt", ".json"});
}

TEST_CASE("a name that would lead to its folder or out of it keeps its extension") {
  CHECK(unlike_names({{"...json", "docs/...json", ""},
                      {"..json", "docs/..json", ""},
                      {"a/...json", "docs/a/...json", ""},
                      {"a/..json", "docs/a/..json", ""},
                      {"...jsonl", "docs/...jsonl", ".000001"},
                      {"....json", "docs/....json", ""},
                      {"a/.jsonl", "docs/a/.jsonl", ""}}) ==
        Names{"...json", "..json", "a/...json", "a/..json", "...jsonl.000001", "...", "a/.jsonl"});
}

TEST_CASE("documents of one name are named by their whole paths") {
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

TEST_CASE("a name that looks like a line of another document stays unique") {
  const Names names =
      unlike_names({{"d.jsonl", "d.jsonl", ".000001"}, {"d.000001.json", "d.000001.json", ""}});
  CHECK(names.size() == 2);
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == 2);
}

TEST_CASE("thousands of lines have a name each") {
  std::vector<NameChoice> choices;
  for (int line = 1; line <= 5000; ++line) {
    for (const char* file : {"a.jsonl", "b.jsonl"}) {
      choices.push_back({file, std::string("x/") + file, "." + std::to_string(line)});
    }
  }
  choices.push_back({"a.5000.json", "x/a.5000.json", ""});
  const Names names = unlike_names(choices);
  CHECK(names[0] == "a.1");
  CHECK(names[9997] == "b.4999");
  CHECK(names[9998] == "x/a.5000");
  CHECK(names.back() == "x/a.5000.json");
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
}
