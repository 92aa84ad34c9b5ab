#include "attention/paths.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "attention/fast_and_reference.hpp"
#include "attention/positions.hpp"
#include "attention/random_request.hpp"
#include "kernels/every_target.hpp"

namespace attn::testing {

// Attentions of medium size in single precision: kernels of double precision, rounded once.

namespace {

std::optional<AttentionResult> exact_fast(const AttentionRequest& request) {
  const Geometry geometry = check_geometry(request);
  return exact_fast_attention(request, geometry, Visibility(request.mask, geometry, {}));
}

// The number of floats that differ; each has to be the neighbour of the other.
std::size_t unlike(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  REQUIRE(a.dtype() == DType::float32);
  REQUIRE(b.dtype() == DType::float32);
  const auto x = a.values<float>(), y = b.values<float>();
  std::size_t count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i]) continue;
    ++count;
    CHECK(std::nextafter(x[i], y[i]) == y[i]);
  }
  return count;
}

AttentionRequest causal_attention(RandomRequests& random) {
  AttentionRequest request = random_attention(random, {2, 3, 65, 24}, {2, 3, 65, 24}, 18);
  request.mask.causal = true;
  return request;
}

}  // namespace

TEST_CASE("medium attentions are rounded once, as the reference's are") {
  on_every_target([] {
    RandomRequests random(11);
    std::size_t different = 0, all = 0;
    for (int round = 0; round < 4; ++round) {
      AttentionRequest request = causal_attention(random);
      request.scale = round + 0.5;  // scores up to hundreds
      if (round == 2) request.softcap = 30;
      if (round == 3) request.mask.window = Window{20, std::nullopt};
      const std::optional<AttentionResult> result = exact_fast(request);
      REQUIRE(result);
      const AttentionResult expected = reference(request);
      different +=
          unlike(result->weights, expected.weights) + unlike(result->output, expected.output);
      all += expected.weights.size() + expected.output.size();
      CHECK(same_bits(result->allowed, expected.allowed));
      AttentionRequest without = request;
      without.weights = false;
      const std::optional<AttentionResult> output = exact_fast(without);
      REQUIRE(output);
      different += unlike(output->output, expected.output);
    }
    CHECK(different * 10'000 < all);
  });
}

TEST_CASE("medium attentions are rounded once, as the reference's are, for every part of a mask") {
  on_every_target([] {
    RandomRequests random(12);
    std::size_t different = 0, all = 0;
    for_masks(
        random,
        [&] {
          return random_attention(random, {2, 2, 33, 24}, {2, 2, 90, 24}, 18);
        },
        [&](const AttentionRequest& request) {
          const std::optional<AttentionResult> result = exact_fast(request);
          REQUIRE(result);
          const AttentionResult expected = reference(request);
          different +=
              unlike(result->weights, expected.weights) + unlike(result->output, expected.output);
          all += expected.weights.size() + expected.output.size();
          CHECK(same_bits(result->allowed, expected.allowed));
          CHECK(result->empty_rows == expected.empty_rows);
        });
    CHECK(different * 10'000 < all);
  });
}

TEST_CASE("medium additive attentions are rounded once, as the reference's are") {
  on_every_target([] {
    RandomRequests random(13);
    AttentionRequest request = random.request(Kind::additive, {2, 65, 24}, {2, 65, 24});
    std::get<Additive>(request.score).W_q = random.normal({20, 24});
    std::get<Additive>(request.score).W_k = random.normal({20, 24});
    std::get<Additive>(request.score).w_v = random.normal({1, 20});
    request = rounded(request);
    const std::optional<AttentionResult> result = exact_fast(request);
    REQUIRE(result);
    const AttentionResult expected = reference(request);
    const std::size_t different =
        unlike(result->weights, expected.weights) + unlike(result->output, expected.output);
    CHECK(different * 1'000 < expected.weights.size() + expected.output.size());
  });
}

TEST_CASE("medium attentions alone take double precision") {
  RandomRequests random(12);
  AttentionRequest request = causal_attention(random);
  const Geometry medium = check_geometry(request);
  CHECK(!fast_path_pays(medium));
  CHECK(exact_path_pays(request, medium));
  const AttentionRequest small = random_attention(random, {5, 8}, {5, 8}, 8);
  CHECK(!exact_path_pays(small, check_geometry(small)));
  request.dtype = DType::float64;
  CHECK(!exact_path_pays(request, medium));
}

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

TEST_CASE("a step of generation stays in single precision, which a small attention leaves") {
  on_every_target([] {
    RandomRequests random(23);
    AttentionRequest request = random_attention(random, {1, 4, 1, 24}, {1, 4, 300, 24}, 18);
    request.weights = false;
    const Geometry geometry = check_geometry(request);
    REQUIRE(!fast_path_pays(geometry));
    REQUIRE(exact_path_pays(request, geometry));
    const Tensor single = attend_in_single(request).output;
    CHECK(same_bits(single, fast(request)->output));
    CHECK(!same_bits(single, attend(request).output));
    CHECK(unlike(attend(request).output, reference(request).output) == 0);
  });
}

TEST_CASE("positions, norms, sinks and biases by distance are those of the whole text") {
  RandomRequests random(22);
  AttentionRequest request = self_attention(random, DType::float64);
  request.mask.causal = true;
  Rotary rotary;
  rotary.width = 4;
  request.rotary = rotary;
  request.query_norm = attn::Norm{random.normal({6}), {}, attn::NormKind::rms};
  request.key_norm = attn::Norm{random.normal({6}), {}, attn::NormKind::rms};
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
