#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "error_from.hpp"
#include "io/text_matrices.hpp"
#include "tensor_is.hpp"

namespace {

using namespace attn;
using Rows = std::vector<std::vector<std::string>>;

}  // namespace

TEST_CASE("a row per query and key is a map, without rows 0") {
  const auto map = indexed_table({"query", "key", "weight"},
                                 {{"0", "0", "1"}, {"1", "1", "0.75"}, {"1", "0", "0.25"}}, {});
  REQUIRE(map);
  CHECK(tensor_is<double>(*map, {2, 2}, {1, 0, 0.25, 0.75}));
}

TEST_CASE("edges of a graph have a column for the source of each target") {
  const auto map =
      indexed_table({"source", "target", "weight"}, {{"2", "0", "0.5"}, {"0", "1", "1"}}, {});
  REQUIRE(map);
  CHECK(tensor_is<double>(*map, {3, 3}, {0, 0, 0.5, 1, 0, 0, 0, 0, 0}));
}

TEST_CASE("layers and heads are axes of their own, and keys may be columns") {
  const auto map = indexed_table(
      {"Layer", "head", "query", "k0", "k1"},
      {{"0", "0", "0", "1", "0"}, {"0", "0", "1", "0.5", "0.5"}, {"1", "0", "1", "0.25", "0.75"}},
      {});
  REQUIRE(map);
  CHECK(tensor_is<double>(*map, {2, 1, 2, 2}, {1, 0, 0.5, 0.5, 0, 0, 0.25, 0.75}));
}

TEST_CASE("tables without columns of indices are none, and wrong indices are told") {
  CHECK_FALSE(indexed_table({"the", "cat", "sat"}, {{"1", "0", "0"}}, {}));
  CHECK_FALSE(indexed_table({"query", "query", "weight"}, {{"1", "0", "0"}}, {}));
  CHECK(error_from([] {
          indexed_table({"query", "key", "w"}, Rows{{"0", "the", "1"}}, {});
        }) ==
        "\"the\" is not an index of the column key\n  where: row 1\n"
        "  help:  give whole numbers from 0, or a matrix with a row per query");
  CHECK(error_from([] {
          indexed_table({"query", "key", "w"}, Rows{{"0", "0", "1"}, {"0", "0", "1"}}, {});
        }) ==
        "the weight of a query and a key stands twice\n  where: row 2\n"
        "  help:  leave one of them out");
}
