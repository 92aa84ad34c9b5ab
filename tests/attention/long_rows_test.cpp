#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"

#include "attention/random_request.hpp"
#include "kernels/every_target.hpp"

namespace {

using attn::AttentionRequest;
using attn::AttentionResult;
using attn::Shape;
using attn::Tensor;
using attn::testing::numbers;
using attn::testing::on_every_target;
using attn::testing::sequences;

Tensor full(const Shape& shape, float number) {
  return {shape, std::vector<float>(attn::element_count(shape), number)};
}

// With u = 2⁻²⁴: 96 equal products summed one after the other, all rounded the same way, are off by
// up to 24 u, with the 16 parts that come together before they go to double precision 26 u, and a
// row's exponentials by 8 u: 34 u. In narrow heads it is 22 u and 12 u.
constexpr double bound = 2e-6;

void check_all(const Tensor& tensor, double expected) {
  double worst = 0;
  for (const double x : numbers(tensor)) {
    const double error = std::abs(x / expected - 1);
    if (!(error <= worst)) worst = error;
  }
  CHECK(worst <= bound);
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

}  // namespace

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
