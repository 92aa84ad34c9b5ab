#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"

#include "attention/fast_and_reference.hpp"
#include "attention/random_request.hpp"
#include "kernels/cpu_target.hpp"
#include "kernels/every_target.hpp"

namespace {

using attn::AttentionRequest;
using attn::AttentionResult;
using attn::DType;
using attn::Tensor;
using attn::testing::check_both_types;
using attn::testing::exact;
using attn::testing::fast;
using attn::testing::near;
using attn::testing::numbers;
using attn::testing::on_every_target;
using attn::testing::random_attention;
using attn::testing::RandomRequests;
using attn::testing::return_to_target;
using attn::testing::rounded;
using attn::testing::same_bits;
using attn::testing::sequences;
using attn::testing::with_number;

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST_CASE("matrix tiles are as precise as vectors of floats") {
  if (attn::kernels::cpu_targets().front() != "amx") return;
  RandomRequests random(15);
  for (const std::size_t width : {32, 64, 256}) {
    CAPTURE(width);
    AttentionRequest request =
        random_attention(random, {1, 2, 200, width}, {1, 2, 700, width}, width);
    request.weights = false;
    const std::vector<double> expected = numbers(exact(request).output);
    const auto error = [&](std::string_view target) {
      REQUIRE(attn::kernels::use_cpu_target(target));
      const std::vector<double> output = numbers(fast(request)->output);
      double squares = 0;
      for (std::size_t i = 0; i < expected.size(); ++i)
        squares += std::pow(output[i] - expected[i], 2);
      return std::sqrt(squares / static_cast<double>(expected.size()));
    };
    const double vectors = error("avx512"), tiles = error("amx");
    return_to_target();
    CHECK(tiles <= 1.5 * vectors);
    CHECK(tiles <= 1e-7);
  }
}

TEST_CASE("scores far beyond the exponents of their type are shifted to where they can be summed") {
  on_every_target([] {
    RandomRequests random(14);
    for (const std::size_t queries : {3, 8, 40}) {
      for (const std::size_t width : {2, 20, 33}) {
        // Differences of 4096 between scores: all weights but the largest are exactly 0 or 1, and
        // in the single precision of scores about 2²⁶ a unit in the last place is 4.
        std::vector<float> query(queries * width, 0.0F), key(50 * width, 0.0F);
        for (std::size_t i = 0; i < queries; ++i) query[i * width] = 4096.0F;
        for (std::size_t j = 0; j < 50; ++j) {
          key[j * width] = 16384.0F - static_cast<float>((j * 7) % 50);
        }
        AttentionRequest request;
        request.threads = 1;
        request.score = attn::DotProduct{};
        sequences(request).query = Tensor({queries, width}, std::move(query));
        sequences(request).key = Tensor({50, width}, std::move(key));
        sequences(request).value = random.normal({50, width});
        check_both_types(rounded(request));
        request.scale = -1.0;
        check_both_types(rounded(request));
      }
    }
  });
}

TEST_CASE(
    "a key hidden from a query contributes nothing to it in the fast path, whatever it holds") {
  on_every_target([] {
    RandomRequests random(7);
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (const auto& sizes :
           {std::pair{30, 6}, std::pair{30, 20}, std::pair{5, 20}, std::pair{40, 24}}) {
        const auto queries = sizes.first, width = sizes.second;
        CAPTURE(queries);
        CAPTURE(width);
        const std::size_t w = static_cast<std::size_t>(width);
        AttentionRequest request = rounded(
            random_attention(random, {static_cast<std::size_t>(queries), w}, {420, w}, w), dtype);
        request.mask.valid_lens = Tensor({}, std::vector<std::int64_t>{411});
        const std::optional<AttentionResult> plain = fast(request);
        AttentionRequest without = request;
        without.weights = false;
        const std::optional<AttentionResult> plain_output = fast(without);
        for (const float special : {infinity, -infinity, std::nanf(""), std::nanf("7")}) {
          for (std::size_t key : {411, 419}) {
            sequences(request).key = with_number(sequences(request).key, key * w + 1, special);
            sequences(request).value = with_number(sequences(request).value, key * w + 2, special);
          }
          const std::optional<AttentionResult> result = fast(request);
          REQUIRE(result);
          CHECK(same_bits(result->weights, plain->weights));
          CHECK(same_bits(result->output, plain->output));
          sequences(without).key = sequences(request).key;
          sequences(without).value = sequences(request).value;
          const std::optional<AttentionResult> output = fast(without);
          REQUIRE(output);
          CHECK(same_bits(output->output, plain_output->output));
        }
      }
    }
  });
}

TEST_CASE("NaN and infinity that are seen give what the reference gives") {
  on_every_target([] {
    RandomRequests random(8);
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (const auto& sizes :
           {std::pair{30, 6}, std::pair{30, 20}, std::pair{5, 20}, std::pair{40, 24}}) {
        const auto queries = sizes.first, width = sizes.second;
        for (const float special : {infinity, -infinity, std::nanf(""), std::nanf("7")}) {
          for (const int place : {0, 1, 2, 3, 4}) {
            CAPTURE(queries);
            CAPTURE(width);
            CAPTURE(special);
            CAPTURE(place);
            const std::size_t w = static_cast<std::size_t>(width);
            const std::size_t rows = static_cast<std::size_t>(queries);
            AttentionRequest request =
                rounded(random_attention(random, {rows, w}, {420, w}, w), dtype);
            if (place < 3) {
              request.mask.causal = true;
              Tensor& tensor = place == 0   ? sequences(request).query
                               : place == 1 ? sequences(request).key
                                            : sequences(request).value;
              tensor = with_number(tensor, (rows - 2) * w + 3, special);
            } else {
              // A value beyond those of the first block of keys, without a mask.
              sequences(request).value = with_number(sequences(request).value,
                                                     401 * w + (place == 3 ? 3 : w - 1), special);
            }
            request.weights = false;
            const std::optional<AttentionResult> result = fast(request);
            REQUIRE(result);
            CHECK(near(result->output, exact(request).output, 1));
            // Weights of such rows are left to the reference.
            request.weights = true;
            if (const auto with_weights = fast(request)) {
              CHECK(near(with_weights->weights, exact(request).weights, 1e-30));
              CHECK(near(with_weights->output, exact(request).output, 1));
            }
          }
        }
      }
    }
  });
}

TEST_CASE("NaN and infinity give what the reference gives where queries lie side by side") {
  on_every_target([] {
    RandomRequests random(9);
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (const float special : {infinity, -infinity, std::nanf("")}) {
        for (const bool seen : {false, true}) {
          CAPTURE(special);
          CAPTURE(seen);
          // 20 rows share the keys.
          AttentionRequest request =
              rounded(random_attention(random, {1, 5, 4, 33}, {1, 1, 420, 33}, 70), dtype);
          request.weights = false;
          const std::size_t last = seen ? 420 : 400;
          request.mask.valid_lens =
              Tensor({1}, std::vector<std::int64_t>{static_cast<std::int64_t>(last)});
          auto& of = sequences(request);
          of.value = with_number(of.value, 300 * 70 + 65, seen ? special : 1);
          of.value = with_number(of.value, 410 * 70 + 3, special);
          of.key = with_number(of.key, 411 * 33 + 5, special);
          const std::optional<AttentionResult> result = fast(request);
          REQUIRE(result);
          CHECK(near(result->output, exact(request).output, 1));
        }
      }
    }
  });
}

TEST_CASE("scores beyond single precision are left to the reference") {
  on_every_target([] {
    RandomRequests random(9);
    AttentionRequest request = random_attention(random, {3, 2}, {5, 2}, 2);
    sequences(request).query = with_number(sequences(request).query, 0, 3e38F);
    sequences(request).key = with_number(sequences(request).key, 0, 3e38F);
    CHECK_FALSE(fast(request));
    request.weights = false;
    CHECK_FALSE(fast(request));
  });
}

using attn::Kind;
using attn::Shape;

Tensor full(const Shape& shape, float number) {
  return {shape, std::vector<float>(attn::element_count(shape), number)};
}

TEST_CASE("what could leave the range of single precision is computed as if it could not") {
  on_every_target([] {
    // Few queries, small heads, wide heads; kernels pay from 2¹⁷ pairs on.
    for (const auto& sizes : std::vector<std::array<std::size_t, 3>>{
             {4, 16384, 64}, {512, 1024, 8}, {256, 512, 64}, {16, 512, 800}}) {
      const auto queries = sizes[0], keys = sizes[1], width = sizes[2];
      for (const bool weights : {true, false}) {
        CAPTURE(queries);
        CAPTURE(width);
        CAPTURE(weights);
        AttentionRequest request;
        request.score = attn::DotProduct{};
        request.weights = weights;
        sequences(request).query = full({queries, width}, 1e20F);
        sequences(request).key = full({keys, width}, -1e20F);
        sequences(request).value = full({keys, width}, 2);
        const auto check = [&] {
          const AttentionResult result = attn::attend(request);
          CHECK(result.empty_rows == 0);
          for (const double x : numbers(result.output)) {
            if (x != 2) FAIL("an output is not 2");
          }
        };
        // Scores of −∞ would be those of hidden keys.
        check();
        // Partial sums may overflow though the score does not.
        std::vector<float> signs(keys * width);
        for (std::size_t i = 0; i < signs.size(); ++i) signs[i] = i % width < width / 2 ? -2 : 2;
        sequences(request).query = full({queries, width}, 1.7e38F);
        sequences(request).key = Tensor({keys, width}, std::move(signs));
        check();
        // Hidden numbers that are not finite make no difference.
        sequences(request).query = full({queries, width}, 1e20F);
        std::vector<float> numbers_with_nan(keys * width, 1e20F);
        numbers_with_nan.back() = std::numeric_limits<float>::quiet_NaN();
        sequences(request).key = Tensor({keys, width}, std::move(numbers_with_nan));
        request.mask.valid_lens =
            Tensor({1}, std::vector<std::int64_t>{static_cast<std::int64_t>(keys) - 1});
        check();
        // Sums of values.
        request.mask = {};
        sequences(request).query = full({queries, width}, 0);
        sequences(request).key = full({keys, width}, 0);
        sequences(request).value = full({keys, width}, 3e38F);
        const AttentionResult large = attn::attend(request);
        for (const double x : numbers(large.output)) {
          if (!(std::abs(x / 3e38 - 1) < 1e-6)) FAIL("an output is not 3e38");
        }
      }
    }
    // Keys that leave the range by their projection, and scores by their scale.
    AttentionRequest general;
    general.score =
        attn::General{{full({256, 64}, 1e-30F), full({256, 64}, 1e4F), full({256, 64}, 2)},
                      full({64, 64}, 1e36F)};
    general.weights = false;
    general.scale = 1e-12;
    for (const double x : numbers(attn::attend(general).output)) CHECK(x == 2);
    RandomRequests random(31);
    AttentionRequest additive = random.request(Kind::additive, {1, 512, 8}, {1, 1024, 8});
    additive.dtype = DType::float32;
    additive.stages = false;
    additive.scale = 1e38;
    const AttentionResult scaled = attn::attend(additive);
    CHECK(scaled.empty_rows == 0);
    for (const double x : numbers(scaled.output)) {
      if (!std::isfinite(x)) FAIL("an output is not finite");
    }
  });
}

TEST_CASE("scores of large numbers that matrix tiles hold do not pass for those of hidden keys") {
  on_every_target([] {
    AttentionRequest request;
    request.score.emplace<attn::DotProduct>();
    request.weights = false;
    sequences(request).query = full({128, 384}, 0x1p59F);
    sequences(request).value = full({128, 64}, 2);
    const auto check = [&] {
      const AttentionResult result = attn::attend(request);
      CHECK(result.empty_rows == 0);
      for (const double x : numbers(result.output)) {
        if (x != 2) FAIL("an output is not 2");
      }
    };
    sequences(request).key = full({128, 384}, -0x1p60F);
    check();
    // The first score is 0, by way of a partial sum beyond the range; it takes all the weight.
    constexpr std::size_t width = 768;
    std::vector<float> keys(128 * width, -0x1p30F), values(std::size_t{128} * 64, 7);
    for (std::size_t k = 0; k < width; ++k) keys[k] = k < width / 2 ? -0x1p60F : 0x1p60F;
    std::fill_n(values.begin(), 64, 2.0F);
    sequences(request).query = full({128, width}, 0x1p59F);
    sequences(request).key = Tensor({128, width}, std::move(keys));
    sequences(request).value = Tensor({128, 64}, std::move(values));
    check();
  });
}

// With u = 2⁻²⁴: 96 equal products summed one after the other, all rounded the same way, are off by
// up to 24 u, with the 16 parts that come together before they go to double precision 26 u, and a
// row's exponentials by 8 u: 34 u. In narrow heads it is 22 u and 12 u.
constexpr double long_row_bound = 2e-6;

void check_all(const Tensor& tensor, double expected) {
  double worst = 0;
  for (const double x : numbers(tensor)) {
    const double error = std::abs(x / expected - 1);
    if (!(error <= worst)) worst = error;
  }
  CHECK(worst <= long_row_bound);
}

AttentionRequest equal_scores(std::size_t queries, std::size_t keys, std::size_t width,
                              float value) {
  AttentionRequest request;
  request.weights = false;
  sequences(request).query = full({queries, width}, 0.1F);
  sequences(request).key = full({keys, width}, 1);
  sequences(request).value = full({keys, width}, value);
  return request;
}

TEST_CASE("a row of a million equal scores is as exact as a short one") {
  constexpr std::size_t keys = 1000000;
  on_every_target([] {
    // Few queries, and narrow heads.
    for (const std::size_t queries : {2, 9}) {
      CAPTURE(queries);
      AttentionRequest request = equal_scores(queries, keys, 8, 1.1F);
      const auto expected = static_cast<double>(1.1F);
      check_all(attn::attend(request).output, expected);
      request.weights = queries == 2;
      if (!request.weights) continue;
      const AttentionResult whole = attn::attend(request);
      check_all(whole.output, expected);
      check_all(whole.weights, 1.0 / keys);
      for (const std::size_t bins : {1, 7}) {
        CAPTURE(bins);
        request.pool = attn::Pooling{bins};
        const AttentionResult pooled = attn::attend(request);
        check_all(pooled.output, expected);
        check_all(pooled.pooled, 1.0 / keys);
      }
    }
  });
}

TEST_CASE("rows of equal scores are as exact in wide heads") {
  on_every_target([] {
    for (const auto& sizes : std::vector<std::array<std::size_t, 3>>{
             {33, 16000, 64}, {12, 131072, 20}, {33, 16000, 24}, {3, 131072, 64}}) {
      const auto queries = sizes[0], keys = sizes[1], width = sizes[2];
      for (const float value : {1.1F, 0.7777F}) {
        CAPTURE(queries);
        CAPTURE(keys);
        CAPTURE(width);
        CAPTURE(value);
        const auto expected = static_cast<double>(value);
        check_all(attn::attend(equal_scores(queries, keys, width, value)).output, expected);
      }
    }
  });
}

}  // namespace
