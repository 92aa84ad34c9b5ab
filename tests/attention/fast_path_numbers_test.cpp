// Large numbers, small ones, and those that are none.

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

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
using attn::testing::rounded;
using attn::testing::same_bits;
using attn::testing::sequences;
using attn::testing::with_number;

constexpr float infinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("matrix tiles lose no precision beside vectors of floats") {
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
    attn::kernels::use_cpu_target("");
    CHECK(tiles <= 1.5 * vectors);
    CHECK(tiles <= 1e-7);
  }
}

TEST_CASE("scores far beyond the exponents of their type are shifted to where they can be summed") {
  on_every_target([] {
    RandomRequests random(14);
    for (const std::size_t queries : {3, 40}) {
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
        for (const float odd : {infinity, -infinity, std::nanf(""), std::nanf("7")}) {
          for (std::size_t key : {411, 419}) {
            sequences(request).key = with_number(sequences(request).key, key * w + 1, odd);
            sequences(request).value = with_number(sequences(request).value, key * w + 2, odd);
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
        for (const float odd : {infinity, -infinity, std::nanf(""), std::nanf("7")}) {
          for (const int place : {0, 1, 2, 3}) {
            CAPTURE(queries);
            CAPTURE(width);
            CAPTURE(odd);
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
              tensor = with_number(tensor, (rows - 2) * w + 3, odd);
            } else {
              // A value beyond those of the first block of keys, without a mask.
              sequences(request).value = with_number(sequences(request).value, 401 * w + 3, odd);
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
