#include "statistics/offset_means.hpp"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

namespace attn {

TEST_CASE("means by offset are over the rows that have such a key") {
  OffsetMeans means(3, 3);
  const std::vector<std::vector<double>> rows{{1, 0, 0}, {0.25, 0.75, 0}, {0.5, 0.125, 0.375}};
  for (const auto& row : rows) means.add(row.data());
  const std::vector<double> found = means.means();
  REQUIRE(found.size() == 7);
  CHECK(std::isnan(found[0]));
  CHECK(found[1] == 0.5);
  CHECK(found[2] == (0.25 + 0.125) / 2);
  CHECK(found[3] == (1 + 0.75 + 0.375) / 3);
  CHECK(found[4] == 0);
  CHECK(found[5] == 0);
  CHECK(std::isnan(found[6]));
}

TEST_CASE("single precision has the same means by offset") {
  OffsetMeans means(2, 1);
  const std::vector<float> first{1, 0}, second{0.5, 0.5};
  means.add(first.data());
  means.add(second.data());
  CHECK(means.means() == std::vector<double>{0.5, 0.75, 0});
}

}  // namespace attn
