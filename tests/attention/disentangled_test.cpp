#include "attention/disentangled.hpp"

#include <cmath>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"

namespace attn {
namespace {

Tensor drawn(const Shape& shape, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<double> numbers(element_count(shape));
  for (double& number : numbers) number = normal(random);
  return {shape, std::move(numbers)};
}

TEST_CASE("distances have rows of their own, those of later keys first") {
  const DistanceRows rows{4, 0, 4};
  std::vector<std::size_t> seen;
  for (int distance = -6; distance <= 6; ++distance) seen.push_back(rows.row(distance));
  CHECK(seen == std::vector<std::size_t>{0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7});
}

// By hand: 4 + ⌈3·ln(|r|/4)/ln(23/4)⌉ behind distance 4, which is 5 at 5…7, 6 at 8…12 and 7 at
// 13…23.
TEST_CASE("buckets of distances widen behind half of their number") {
  const DistanceRows rows{8, 8, 24};
  for (int distance = 0; distance <= 4; ++distance) CHECK(rows.row(distance) == 8 + distance);
  CHECK(rows.row(5) == 13);
  CHECK(rows.row(7) == 13);
  CHECK(rows.row(8) == 14);
  CHECK(rows.row(12) == 14);
  CHECK(rows.row(13) == 15);
  CHECK(rows.row(23) == 15);
  CHECK(rows.row(1000) == 15);
  CHECK(rows.row(-7) == 3);
  CHECK(rows.row(-23) == 1);
  CHECK(rows.row(-1000) == 0);
}

TEST_CASE(
    "terms between contents and positions are products of queries and keys with rows of "
    "distances") {
  std::mt19937 random(5);
  constexpr std::size_t batch = 2, heads = 3, width = 4, length = 7, span = 5;
  const Tensor query = drawn({batch, length, heads * width}, random),
               key = drawn({batch, length, heads * width}, random),
               value = drawn({batch, length, heads * width}, random);
  const DisentangledTerms terms{{span, 0, span},
                                drawn({2 * span, heads * width}, random),
                                drawn({2 * span, heads * width}, random)};
  AttentionRequest request;
  request.scale = 0.3;
  request.score = ScaledDotProduct{{.query = query, .key = key, .value = value, .heads = heads}};
  const Tensor both = disentangled_bias(terms, request);
  const Tensor of_keys = disentangled_bias({terms.distances, terms.keys, {}}, request);
  CHECK(both.shape() == Shape{batch, heads, length, length});
  const auto dot = [&](const Tensor& a, std::size_t row, const Tensor& b, std::size_t other,
                       std::size_t head) {
    double sum = 0;
    for (std::size_t k = 0; k < width; ++k) {
      sum += a.values<double>()[row * heads * width + head * width + k] *
             b.values<double>()[other * heads * width + head * width + k];
    }
    return sum;
  };
  std::size_t at = 0;
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t i = 0; i < length; ++i) {
        for (std::size_t j = 0; j < length; ++j, ++at) {
          const std::size_t row =
              terms.distances.row(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(j));
          const double first = 0.3 * dot(query, b * length + i, terms.keys, row, h);
          const double second = 0.3 * dot(key, b * length + j, terms.queries, row, h);
          CHECK(std::abs(of_keys.values<double>()[at] - first) < 1e-13);
          CHECK(std::abs(both.values<double>()[at] - first - second) < 1e-13);
        }
      }
    }
  }
}

}  // namespace
}  // namespace attn
