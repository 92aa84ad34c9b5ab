#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "attention/paths.hpp"
#include "attention/position_bias.hpp"
#include "attention/random_request.hpp"

namespace attn::testing {
namespace {

// Seventeen positions of four heads, six numbers wide, over two heads of keys.
AttentionRequest self_attention(RandomRequests& random, DType dtype) {
  AttentionRequest request;
  request.dtype = dtype;
  request.threads = 1;
  ScaledDotProduct score;
  score.query = random.normal({1, 17, 24}).converted(dtype);
  score.key = random.normal({1, 17, 12}).converted(dtype);
  score.value = random.normal({1, 17, 12}).converted(dtype);
  score.heads = 4;
  score.kv_heads = 2;
  request.score = score;
  return request;
}

void check_rows(const AttentionRequest& request, double tolerance) {
  const AttentionResult whole = attend(request);
  const std::vector<double> expected = numbers(whole.weights);
  for (const std::size_t at_a_time : {1, 5, 16, 17, 40}) {
    CAPTURE(at_a_time);
    std::size_t next = 0;
    double largest = 0;
    const Tensor output =
        attend_by_queries(request, at_a_time, [&](std::size_t first, const Tensor& rows) {
          REQUIRE(first == next);
          const std::size_t count = rows.shape()[2];
          REQUIRE(rows.shape() == Shape{1, 4, count, 17});
          next += count;
          const std::vector<double> own = numbers(rows);
          for (std::size_t h = 0; h < 4; ++h) {
            for (std::size_t i = 0; i < count * 17; ++i) {
              largest = std::max(
                  largest, std::abs(own[h * count * 17 + i] - expected[(h * 17 + first) * 17 + i]));
            }
          }
        });
    CHECK(next == 17);
    CHECK(largest <= tolerance);
    CHECK(output.dtype() == request.dtype);
    CHECK(difference(output, whole.output) <= tolerance);
  }
}

}  // namespace

TEST_CASE("queries computed some at a time have the rows of the whole map") {
  RandomRequests random(21);
  for (const DType dtype : {DType::float64, DType::float32}) {
    const double tolerance = dtype == DType::float64 ? 1e-14 : 3e-7;
    AttentionRequest request = self_attention(random, dtype);
    check_rows(request, tolerance);
    request.mask.causal = true;
    check_rows(request, tolerance);
    request.mask.window = Window{4, std::nullopt};
    check_rows(request, tolerance);
    request.mask.causal = false;
    request.mask.window = Window{3, 2};
    check_rows(request, tolerance);
  }
}

TEST_CASE("positions, norms, sinks and biases by distance are those of the whole text") {
  RandomRequests random(22);
  AttentionRequest request = self_attention(random, DType::float64);
  request.mask.causal = true;
  Rotary rotary;
  rotary.width = 4;
  request.rotary = rotary;
  request.query_norm = HeadNorm{random.normal({6})};
  request.key_norm = HeadNorm{random.normal({6})};
  request.sinks = random.normal({4});
  check_rows(request, 1e-14);
  AttentionRequest biased = self_attention(random, DType::float64);
  biased.mask.causal = true;
  biased.mask.alibi = Alibi{alibi_slopes(4)};
  check_rows(biased, 1e-14);
  AttentionRequest buckets = self_attention(random, DType::float64);
  buckets.relative_bias = RelativeBias{random.normal({8, 4}), 8, 12, true};
  check_rows(buckets, 1e-14);
}

}  // namespace attn::testing
