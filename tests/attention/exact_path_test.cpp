#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "attention/fast_and_reference.hpp"
#include "attention/random_request.hpp"
#include "kernels/every_target.hpp"

// Attentions of medium size in single precision: kernels of double precision, rounded once.

namespace attn::testing {
namespace {

std::optional<AttentionResult> exact_fast(const AttentionRequest& request) {
  const Geometry geometry = check_geometry(request);
  return exact_fast_attention(request, geometry, Visibility(request.mask, geometry));
}

// Numbers that are not the same floats, each of which has to be the other's neighbour.
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

}  // namespace attn::testing
