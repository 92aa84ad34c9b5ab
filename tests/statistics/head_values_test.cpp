#include "statistics/head_values.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "tensor/elements.hpp"

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

namespace attn {
namespace {

/// A causal self-attention [1,L,H·d] of two query heads that share one key head.
AttentionRequest request_of(std::size_t length, DType dtype, float size) {
  constexpr std::size_t width = 4;
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, size);
  const auto numbers = [&](std::size_t columns) {
    std::vector<float> all(length * columns);
    for (float& x : all) x = normal(random);
    return Tensor({1, length, columns}, std::move(all)).converted(dtype);
  };
  AttentionRequest request;
  request.dtype = dtype;
  ScaledDotProduct& score = request.score.emplace<ScaledDotProduct>();
  score.query = numbers(2 * width);
  score.key = numbers(width);
  score.value = score.key;
  score.heads = 2;
  score.kv_heads = 1;
  request.mask.causal = true;
  return request;
}

// All seen scores of a head by the definition, sorted.
std::vector<double> sorted_scores(const AttentionRequest& request, std::size_t head,
                                  const std::vector<std::uint8_t>& left_out) {
  AttentionRequest whole = request;
  whole.stages = true;
  const Tensor scores = attend(whole).scores.converted(DType::float64);
  const std::size_t length = scores.shape()[2];
  std::vector<double> seen;
  for (std::size_t i = 0; i < length; ++i) {
    if (!left_out.empty() && left_out[i] != 0) continue;
    for (std::size_t j = 0; j <= i; ++j) {
      seen.push_back(scores.values<double>()[(head * length + i) * length + j]);
    }
  }
  std::ranges::sort(seen);
  return seen;
}

// Linear between the two scores around the place share·(n − 1).
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (place - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

void check_against_sorted(const AttentionRequest& request,
                          const std::vector<std::uint8_t>& left_out) {
  const std::vector<ScoreValues> values = score_values(request, left_out);
  REQUIRE(values.size() == 2);
  // Scores of four products, each rounded to the type.
  const double tolerance = request.dtype == DType::float32 ? 2e-6 : 1e-14;
  for (std::size_t h = 0; h < 2; ++h) {
    const std::vector<double> sorted = sorted_scores(request, h, left_out);
    const double slack = tolerance * (1 + std::abs(sorted.front()) + std::abs(sorted.back()));
    CHECK(std::abs(values[h].largest - sorted.back()) <= slack);
    CHECK(std::abs(values[h].median - quantile(sorted, 0.5)) <= slack);
    CHECK(std::abs(values[h].high - quantile(sorted, 0.99)) <= slack);
  }
}

}  // namespace

TEST_CASE("largest score and quantiles are those of all seen scores in order") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const std::size_t length : {1, 2, 3, 50, 300}) {
      for (const float size : {0.01F, 1.0F, 30.0F}) {
        CAPTURE(length);
        CAPTURE(size);
        check_against_sorted(request_of(length, dtype, size), {});
      }
    }
  }
}

TEST_CASE("scores of more rows than are held at once are those of all rows") {
  // 2100² scores are more than 2²².
  check_against_sorted(request_of(2100, DType::float32, 1), {});
}

TEST_CASE("rows that are left out have no scores, and no row has no values") {
  const AttentionRequest request = request_of(4, DType::float64, 1);
  check_against_sorted(request, {0, 1, 0, 1});
  for (const ScoreValues& values : score_values(request, {1, 1, 1, 1})) {
    CHECK(std::isnan(values.largest));
    CHECK(std::isnan(values.median));
    CHECK(std::isnan(values.high));
  }
}

TEST_CASE("values of scores do not depend on the number of threads") {
  AttentionRequest request = request_of(300, DType::float32, 1);
  request.threads = 1;
  const std::vector<ScoreValues> one = score_values(request, {});
  request.threads = 3;
  const std::vector<ScoreValues> three = score_values(request, {});
  for (std::size_t h = 0; h < 2; ++h) {
    CHECK(one[h].largest == three[h].largest);
    CHECK(one[h].median == three[h].median);
    CHECK(one[h].high == three[h].high);
  }
}

}  // namespace attn
