#include "maps/head_pattern.hpp"

#include <vector>

#include <doctest/doctest.h>

using namespace attn;

namespace {

// Weights of three causal queries, of which the later two give `before` to the key before.
Heatmap causal_map(double before) {
  Heatmap map;
  map.weights =
      Tensor({3, 3}, std::vector<double>{1, 0, 0, before, 1 - before, 0, 0, before, 1 - before});
  map.query_labels = map.key_labels = {"a", "b", "c"};
  return map;
}

}  // namespace

TEST_CASE("a head's place is the one whose share exceeds that of even weights most") {
  const auto pattern = strongest_pattern(causal_map(0.9));
  REQUIRE(pattern);
  CHECK(pattern->statistic == HeadStatistic::previous);
  CHECK(pattern->share == doctest::Approx(0.9));
  // Even weights of the second and third query: 1/2 and 1/3.
  CHECK(pattern->chance == doctest::Approx((1.0 / 2 + 1.0 / 3) / 2));
  CHECK(strongest_pattern(causal_map(0.1))->statistic == HeadStatistic::self);
}

TEST_CASE("chance counts the keys that a mask lets a query see, not those with weight") {
  Heatmap map = causal_map(0.9);
  map.allowed = Tensor({3, 3}, std::vector<std::uint8_t>{1, 1, 1, 1, 1, 1, 1, 1, 1});
  CHECK(pattern_of(map, HeadStatistic::previous)->chance == doctest::Approx(1.0 / 3));
  map.allowed = Tensor({3, 3}, std::vector<std::uint8_t>{1, 0, 0, 1, 1, 0, 0, 1, 1});
  CHECK(pattern_of(map, HeadStatistic::previous)->chance == doctest::Approx(1.0 / 2));
}

TEST_CASE("maps of other keys than queries have no places of positions") {
  Heatmap map;
  map.weights = Tensor({1, 2}, std::vector<double>{0.25, 0.75});
  CHECK(!pattern_of(map, HeadStatistic::previous));
  CHECK(pattern_of(map, HeadStatistic::first)->share == doctest::Approx(0.25));
}
