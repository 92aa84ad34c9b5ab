#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "statistics/head_values.hpp"
#include "tensor/elements.hpp"

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
