#include "report/facts.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace attn {
namespace {

std::string line(const Fact& fact) {
  return json_text(fact, JsonLayout::line);
}

TEST_CASE("facts of every type are written as JSON") {
  CHECK(line({}) == "null\n");
  CHECK(line(true) == "true\n");
  CHECK(line(-3) == "-3\n");
  CHECK(line(UINT64_MAX) == "18446744073709551615\n");
  CHECK(line(0.1F) == "0.1\n");
  CHECK(line(1.0 / 3) == "0.3333333333333333\n");
  CHECK(line("a\"b") == "\"a\\\"b\"\n");
  CHECK(line(std::filesystem::path("r/result.json")) == "\"r/result.json\"\n");
  CHECK(line(Shape{2, 3}) == "[2,3]\n");
  CHECK(line(Tensor({2}, {1, 0.5})) == "[1, 0.5]\n");
  CHECK(line(std::vector<std::string>{"a", "b"}) == "[\"a\", \"b\"]\n");
  CHECK(line(std::optional<std::size_t>()) == "null\n");
  CHECK(line(std::optional<std::size_t>(3)) == "3\n");
}

TEST_CASE("objects keep the order of their members, and absent facts are left out") {
  const std::string title;
  CHECK(line(object({{"b", 1},
                     {"title", unless_empty(title)},
                     {"seconds", if_given(std::optional<double>())},
                     {"a", only_if(true, Fact())},
                     {"rows", list_of(std::vector{1, 2, 3}, [](int i) {
                        return only_if(i != 2, i);
                      })}})) == "{\"b\": 1, \"a\": null, \"rows\": [1, 3]}\n");
}

TEST_CASE("a tree of facts is indented, a row of a tensor on a line") {
  CHECK(json_text(object({{"x", Tensor({1, 2}, {1, 2})}, {"y", Fact::List()}})) ==
        "{\n"
        "  \"x\": [\n"
        "    [1, 2]\n"
        "  ],\n"
        "  \"y\": []\n"
        "}\n");
}

}  // namespace
}  // namespace attn
