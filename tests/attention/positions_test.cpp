#include "attention/positions.hpp"

#include <cmath>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"

namespace attn {

namespace {

TEST_CASE("slopes of ALiBi halve evenly, also where the heads are no power of two") {
  CHECK(alibi_slopes(1) == std::vector<double>{0x1p-8});
  CHECK(alibi_slopes(8) ==
        std::vector<double>{0x1p-1, 0x1p-2, 0x1p-3, 0x1p-4, 0x1p-5, 0x1p-6, 0x1p-7, 0x1p-8});
  CHECK(alibi_slopes(3) == std::vector<double>{0x1p-4, 0x1p-8, 0x1p-2});
  CHECK(alibi_slopes(6) == std::vector<double>{0x1p-2, 0x1p-4, 0x1p-6, 0x1p-8, 0x1p-1, 0x1p-3});
}

// Expected buckets were computed from the formula by a separate script.
TEST_CASE("buckets of distances are exact nearby and logarithmic far away, on each side") {
  const std::vector<std::int64_t> distances{-200, -128, -127, -64, -32, -16, -9, -8, -7,
                                            -1,   0,    1,    7,   8,   11,  12, 16, 23,
                                            32,   45,   64,   90,  91,  128, 500};
  std::vector<std::size_t> found;
  for (const std::int64_t r : distances) found.push_back(relative_bucket(r, 32, 128, true));
  CHECK(found == std::vector<std::size_t>{15, 15, 15, 14, 12, 10, 8,  8,  7,  1,  0,  17, 23,
                                          24, 24, 25, 26, 27, 28, 28, 30, 30, 31, 31, 31});
}

TEST_CASE("buckets of one direction put all later keys into the first") {
  const std::vector<std::int64_t> distances{-200, -128, -113, -64, -32, -17, -16, -15, -1, 0, 1, 5};
  std::vector<std::size_t> found;
  for (const std::int64_t r : distances) found.push_back(relative_bucket(r, 32, 128, false));
  CHECK(found == std::vector<std::size_t>{31, 31, 31, 26, 21, 16, 16, 15, 1, 0, 0, 0});
}

}  // namespace

namespace {

void check_frequencies(const RotaryFrequencies& found, const std::vector<double>& expected) {
  REQUIRE(found.per_pair.size() == expected.size());
  for (std::size_t n = 0; n < expected.size(); ++n) {
    CHECK(std::abs(found.per_pair[n] - expected[n]) <= 1e-15 * std::abs(expected[n]) * 4);
  }
}

// Expected numbers were computed from the papers' formulas by a separate script.

TEST_CASE("plain and linearly stretched frequencies are those of the definition") {
  check_frequencies(rotary_frequencies(10000, 8, {}, 4), {1, 0.1, 0.01, 0.001});
  check_frequencies(rotary_frequencies(10000, 8, LinearScaling{4}, 4),
                    {0.25, 0.025, 0.0025, 0.00025});
  CHECK(rotary_frequencies(10000, 8, LinearScaling{4}, 4).amplitude == 1);
}

TEST_CASE("the dynamic scaling raises theta only beyond the original length") {
  check_frequencies(rotary_frequencies(10000, 8, DynamicScaling{2, 6}, 6), {1, 0.1, 0.01, 0.001});
  check_frequencies(rotary_frequencies(10000, 8, DynamicScaling{2, 6}, 9),
                    {1.0, 0.07937005259840997, 0.006299605249474365, 0.0005});
}

TEST_CASE("the scaling by bands keeps short waves, divides long ones and mixes between") {
  check_frequencies(
      rotary_frequencies(500000, 16, BandScaling{8, 1, 4, 8192}, 4),
      {1.0, 0.19392274474868576, 0.03760603093086393, 0.007292664737217109, 0.0005248461609929547,
       3.428102195952591e-05, 6.647869871181235e-06, 1.2891731721515574e-06});
  check_frequencies(rotary_frequencies(500000, 8, BandScaling{8, 1, 4, 128}, 4),
                    {1.0, 0.004700753866357992, 0.00017677669529663688, 6.647869871181235e-06});
}

TEST_CASE("YaRN's ramp runs over the pairs, rounded outwards unless it is not truncated") {
  const RotaryFrequencies rounded =
      rotary_frequencies(10000, 16, YarnScaling{.factor = 4, .original = 512}, 4);
  check_frequencies(rounded, {1.0, 0.2569350598886808, 0.0625, 0.01383496476323666, 0.0025,
                              0.0007905694150420948, 0.00025, 7.905694150420948e-05});
  CHECK(rounded.amplitude == 0.1 * std::log(4.0) + 1);
  check_frequencies(
      rotary_frequencies(150000, 12, YarnScaling{.factor = 32, .original = 128, .truncate = false},
                         4),
      {1.0, 0.0496034003111691, 0.000588147518050643, 8.068715304598785e-05, 1.1069360095652204e-05,
       1.5185903616822431e-06});
}

TEST_CASE("YaRN's amplitude is the one given, or the quotient of two, or that of the factor") {
  const auto amplitude = [](YarnScaling yarn) {
    return rotary_frequencies(10000, 16, yarn, 4).amplitude;
  };
  CHECK(amplitude({.factor = 1, .original = 512}) == 1);
  CHECK(amplitude({.factor = 4, .original = 512, .amplitude = 1.25}) == 1.25);
  CHECK(amplitude({.factor = 40, .original = 512, .mscale = 1, .mscale_all_dim = 0.5}) ==
        (0.1 * std::log(40.0) + 1) / (0.05 * std::log(40.0) + 1));
}

TEST_CASE("each pair is divided by a factor of its own, another in longer texts") {
  const LongScaling scaling{{2, 5}, {4, 10}, 100, 1.5};
  const RotaryFrequencies found = rotary_frequencies(10000, 4, scaling, 100);
  check_frequencies(found, {0.5, 0.002});
  CHECK(found.amplitude == 1.5);
  check_frequencies(rotary_frequencies(10000, 4, scaling, 101), {0.25, 0.001});
}

TEST_CASE("turning keeps lengths and makes products depend on the distance alone") {
  const RotaryAngles angles(rotary_frequencies(100, 4, {}, 40), {3, 8, 20, 25});
  for (const bool interleaved : {false, true}) {
    CAPTURE(interleaved);
    const auto product = [&](std::size_t a, std::size_t b) {
      std::vector<double> q{0.3, -1.2, 0.7, 2.0, 9}, k{1.1, 0.4, -0.6, 0.9, 7};
      turn(q.data(), angles, a, interleaved);
      turn(k.data(), angles, b, interleaved);
      CHECK(q[4] == 9);
      CHECK(std::abs(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 6.02) < 1e-14);
      return q[0] * k[0] + q[1] * k[1] + q[2] * k[2] + q[3] * k[3];
    };
    CHECK(std::abs(product(0, 1) - product(2, 3)) < 1e-14);
    CHECK(std::abs(product(1, 0) - product(3, 2)) < 1e-14);
    CHECK(std::abs(product(0, 1) - product(1, 0)) > 0.01);
  }
}

TEST_CASE("pairs are the halves of the width, or neighbours if interleaved") {
  const std::vector<double> cos{0, 1}, sin{1, 0};
  const RotaryAngles angles(cos.data(), sin.data(), 2, {0});
  std::vector<float> halves{1, 2, 3, 4}, neighbours{1, 2, 3, 4};
  turn(halves.data(), angles, 0, false);
  turn(neighbours.data(), angles, 0, true);
  CHECK(halves == std::vector<float>{-3, 2, 1, 4});
  CHECK(neighbours == std::vector<float>{-2, 1, 3, 4});
}

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
