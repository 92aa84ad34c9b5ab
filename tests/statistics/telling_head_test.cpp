#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "statistics/head_values.hpp"

namespace {

// Weights [1,3,n,n]: each query reads the first token; the token before it; a token of its own that
// is another from query to query.
attn::Tensor three_heads(std::size_t n, double scattered) {
  std::vector<float> weights(3 * n * n);
  for (std::size_t i = 0; i < n; ++i) {
    weights[i * n] = 1;
    weights[(n + i) * n + (i == 0 ? 0 : i - 1)] = 1;
    float* const row = weights.data() + (2 * n + i) * n;
    row[(i * i + i / 3) % (i + 1)] += static_cast<float>(scattered);
    row[0] += static_cast<float>(1 - scattered);
  }
  return {{1, 3, n, n}, std::move(weights)};
}

attn::Tensor causal(std::size_t n) {
  std::vector<std::uint8_t> seen(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) seen[i * n + j] = 1;
  }
  return {{1, 1, n, n}, std::move(seen)};
}

TEST_CASE("the head that tells most reads other keys from query to query") {
  for (const std::size_t n : {5, 40, 100}) {
    CHECK(attn::telling_head(three_heads(n, 0.5), causal(n), 0, true) == 2);
    CHECK(attn::telling_head(three_heads(n, 0.5), {}, 0, true) == 2);
  }
}

TEST_CASE("of two texts the distance of a key explains nothing") {
  // The head of the token before is the farthest from the mean of its keys.
  CHECK(attn::telling_head(three_heads(40, 0.25), {}, 0, false) == 1);
}

TEST_CASE("heads that tell nothing leave the first one") {
  const std::vector<float> even(2 * 4 * 3 * 3, 1.0F / 3);
  const attn::Tensor weights({2, 4, 3, 3}, std::vector<float>(even));
  CHECK(attn::telling_head(weights, {}, 1, true) == 0);
  CHECK(attn::telling_head(attn::Tensor({1, 2, 1, 1}, std::vector<float>{1, 1}), {}, 0, true) == 0);
}

}  // namespace
