#include "report/text_table.hpp"

#include <doctest/doctest.h>

namespace attn {
namespace {

TEST_CASE("columns are as wide as their widest cell, numbers end at the right") {
  TextTable table{{{"tensor"}, {"error", true}}};
  CHECK_FALSE(table.has_rows());
  table.add({"权重", "0.5"});
  table.add({"a", "12.25"});
  CHECK(table.has_rows());
  CHECK(table.text() ==
        "  tensor  error\n"
        "  权重      0.5\n"
        "  a       12.25\n");
}

TEST_CASE("a table without headings has no line for them, and lines end with no space") {
  TextTable table{{{""}, {"", false, " …"}}};
  table.add({"a", "b"});
  table.add({"cc", ""});
  CHECK(table.lines() == std::vector<std::string>{"  a  …  b", "  cc …"});
}

}  // namespace
}  // namespace attn
