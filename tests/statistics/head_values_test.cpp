#include "statistics/head_values.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

namespace attn {
namespace {

double of(const HeadValues& values, HeadStatistic statistic) {
  return values[static_cast<std::size_t>(statistic)];
}

CountedMap map_of(std::size_t rows, std::size_t columns, std::vector<double> numbers) {
  CountedMap map;
  map.weights = Tensor({rows, columns}, std::move(numbers));
  map.same_positions = rows == columns;
  return map;
}

}  // namespace

TEST_CASE("a head that looks at the token before has all its weight there") {
  const HeadValues values = head_values(map_of(3, 3, {1, 0, 0, 1, 0, 0, 0, 1, 0}), HeadCounting());
  CHECK(of(values, HeadStatistic::previous) == 1);
  CHECK(of(values, HeadStatistic::next) == 0);
  CHECK(of(values, HeadStatistic::self) == doctest::Approx(1.0 / 3));
  CHECK(of(values, HeadStatistic::first) == doctest::Approx(2.0 / 3));
  CHECK(of(values, HeadStatistic::sink) == 1);
  CHECK(of(values, HeadStatistic::entropy) == 0);
  CHECK(of(values, HeadStatistic::confidence) == 1);
  CHECK(of(values, HeadStatistic::distance) == doctest::Approx(2.0 / 3));
  CHECK(of(values, HeadStatistic::previous_score) == doctest::Approx(2.0 / 3));
}

TEST_CASE("an even head has the largest entropy and the smallest confidence") {
  CountedMap map = map_of(2, 4, {0.25, 0.25, 0.25, 0.25, 0.5, 0.5, 0, 0});
  HeadValues values = head_values(map, HeadCounting());
  CHECK(of(values, HeadStatistic::entropy) == doctest::Approx((std::log(4) + std::log(2)) / 2));
  CHECK(of(values, HeadStatistic::entropy_share) == doctest::Approx(1));
  map.seen = {4, 4};
  values = head_values(map, HeadCounting());
  CHECK(of(values, HeadStatistic::entropy_share) == doctest::Approx(0.75));
  CHECK(of(values, HeadStatistic::confidence) == doctest::Approx(0.375));
}

TEST_CASE("what queries and keys of different positions cannot tell is left out") {
  const HeadValues values = head_values(map_of(1, 2, {0.5, 0.5}), HeadCounting());
  for (const HeadStatistic statistic :
       {HeadStatistic::previous, HeadStatistic::next, HeadStatistic::self, HeadStatistic::distance,
        HeadStatistic::separators, HeadStatistic::previous_score, HeadStatistic::duplicate_score,
        HeadStatistic::induction_score}) {
    CHECK(std::isnan(of(values, statistic)));
  }
  CHECK(of(values, HeadStatistic::first) == 0.5);
}

TEST_CASE("rows without weight do not count, nor special ones where they are left out") {
  MapTokens tokens;
  tokens.special = {1, 0, 0};
  tokens.separator = {0, 1, 0};
  CountedMap map = map_of(3, 3, {0.2, 0.8, 0, 0.6, 0.4, 0, 0, 0, 0});
  map.queries = map.keys = &tokens;
  CHECK(of(head_values(map, HeadCounting()), HeadStatistic::first) == doctest::Approx(0.4));
  CHECK(of(head_values(map, HeadCounting()), HeadStatistic::separators) == doctest::Approx(0.6));
  HeadCounting counting;
  counting.ignore_special = true;
  CHECK(of(head_values(map, counting), HeadStatistic::first) == doctest::Approx(0.6));
  CHECK(of(head_values(map, counting), HeadStatistic::separators) == doctest::Approx(0.4));
}

TEST_CASE("scores of patterns are shares of the weight on equal tokens and on those after them") {
  MapTokens tokens;
  tokens.ids = {5, 6, 5, 5};
  CountedMap map = map_of(4, 4,
                          {1, 0, 0, 0,        //
                           0.5, 0.5, 0, 0,    //
                           0.3, 0.5, 0.2, 0,  //
                           0.1, 0.2, 0.4, 0.3});
  map.queries = map.keys = &tokens;
  const HeadValues values = head_values(map, HeadCounting());
  CHECK(of(values, HeadStatistic::duplicate_score) == doctest::Approx((0.3 + 0.1 + 0.4) / 4));
  CHECK(of(values, HeadStatistic::induction_score) == doctest::Approx((0.5 + 0.2 + 0.3) / 4));
  HeadCounting counting;
  counting.without_first_key = true;
  CHECK(of(head_values(map, counting), HeadStatistic::duplicate_score) ==
        doctest::Approx(0.4 / (4 - 1.9)));
  counting = {};
  counting.without_self = true;
  CHECK(of(head_values(map, counting), HeadStatistic::induction_score) ==
        doctest::Approx((0.5 + 0.2) / (4 - 2)));
  counting = {};
  counting.measure = HeadCounting::Measure::difference;
  // Row by row: the weight off the pattern, and the weight missing on it.
  CHECK(of(head_values(map, counting), HeadStatistic::duplicate_score) ==
        doctest::Approx(1 - (1 + 1 + (0.7 + 0.7) + (0.5 + 0.9 + 0.6)) / 4));
}

TEST_CASE("a map with NaN has no numbers but where the rows are whole") {
  const HeadValues values =
      head_values(map_of(2, 2, {std::nan(""), 0.5, 0.5, 0.5}), HeadCounting());
  CHECK(std::isnan(of(values, HeadStatistic::entropy)));
  CHECK(std::isnan(of(values, HeadStatistic::confidence)));
  CHECK(std::isnan(of(values, HeadStatistic::sink)));
  CHECK(of(values, HeadStatistic::previous) == 0.5);
}

TEST_CASE("every statistic has a row in its place") {
  for (std::size_t i = 0; i < head_statistics().size(); ++i) {
    CHECK(static_cast<std::size_t>(head_statistics()[i].statistic) == i);
  }
  CHECK(head_statistics().size() == head_statistic_count);
}

TEST_CASE("a sink logit has what the weights of a row lack") {
  CountedMap map = map_of(2, 2, {0.25, 0.25, 0.5, 0.25});
  CHECK(std::isnan(of(head_values(map, HeadCounting()), HeadStatistic::sink_share)));
  MapPositions positions(2, 2, nullptr, nullptr, true);
  positions.sinks = true;
  CHECK(of(head_values(map, positions, HeadCounting()), HeadStatistic::sink_share) == 0.375);
}

TEST_CASE("every statistic has a number where tokens, separators, positions and scores are known") {
  const MapTokens tokens{{7, 8, 7}, {0, 0, 0}, {0, 1, 0}};
  CountedMap map = map_of(3, 3, {0.5, 0.25, 0.25, 0.25, 0.5, 0.25, 0.25, 0.25, 0.5});
  map.scores = {3, 1, 2};
  MapPositions positions(3, 3, &tokens, &tokens, true);
  positions.sinks = true;
  const HeadValues values = head_values(map, positions, HeadCounting());
  for (const HeadStatisticInfo& info : head_statistics()) {
    CAPTURE(info.name);
    CHECK(std::isfinite(of(values, info.statistic)));
  }
}

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
