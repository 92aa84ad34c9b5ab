#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "attention/fast_and_reference.hpp"
#include "attention/random_request.hpp"
#include "kernels/every_target.hpp"

namespace {

using namespace attn;
using attn::testing::numbers;
using attn::testing::on_every_target;
using attn::testing::RandomRequests;
using attn::testing::same_bits;
using attn::testing::sequences;

AttentionRequest pooled_request(RandomRequests& random, const Shape& query, const Shape& key,
                                DType dtype, Pooling pooling) {
  AttentionRequest request;
  request.dtype = dtype;
  request.threads = 1;
  sequences(request).query = random.normal(query).converted(dtype);
  sequences(request).key = random.normal(key).converted(dtype);
  sequences(request).value = random.normal(key).converted(dtype);
  request.weights = false;
  request.pool = pooling;
  return request;
}

AttentionResult pooled(const AttentionRequest& request) {
  std::optional<AttentionResult> result = attn::testing::fast(request);
  REQUIRE(result);
  return *std::move(result);
}

// Cells are means or largest of weights, which are at most 1 and within a relative 2e-5 (4e-14) of
// the exact ones.
void check_as_reference(const AttentionRequest& request) {
  const AttentionResult expected = attn::testing::exact(request);
  const AttentionResult result = pooled(request);
  CHECK(result.pooled.dtype() == request.dtype);
  REQUIRE(result.pooled.shape() == expected.pooled.shape());
  const std::vector<double> a = numbers(result.pooled), b = numbers(expected.pooled);
  const double relative = attn::testing::kernel_bound(request.dtype);
  double farthest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i);
    CAPTURE(a[i]);
    CAPTURE(b[i]);
    if (!(std::abs(a[i] - b[i]) <= relative * b[i] + 1e-30)) FAIL_CHECK("a cell differs");
    farthest = std::max(farthest, std::abs(a[i] - b[i]));
  }
  CHECK(farthest <= 1e-6);
  CHECK(same_bits(result.pooled_allowed, expected.pooled_allowed));
}

constexpr Pooling::Reduction mean = Pooling::Reduction::mean, largest = Pooling::Reduction::max;

}  // namespace

TEST_CASE("weights pooled inside the kernel are the reference's, whatever the bins hold") {
  on_every_target([] {
    RandomRequests random(21);
    for (const auto& sizes : std::vector<std::tuple<std::size_t, std::size_t, std::size_t>>{
             {1, 1, 1}, {5, 3, 2}, {40, 400, 400}, {140, 400, 7}, {270, 1000, 2}, {133, 385, 50}}) {
      const auto queries = std::get<0>(sizes), keys = std::get<1>(sizes), size = std::get<2>(sizes);
      for (const std::size_t width : {4, 20}) {
        for (const DType dtype : {DType::float32, DType::float64}) {
          for (const Pooling::Reduction reduction : {mean, largest}) {
            CAPTURE(queries);
            CAPTURE(keys);
            CAPTURE(size);
            CAPTURE(width);
            check_as_reference(
                pooled_request(random, {queries, width}, {keys, width}, dtype, {size, reduction}));
          }
        }
      }
    }
  });
}

TEST_CASE("weights by expression are pooled as the reference's, in bins longer than other blocks") {
  on_every_target([] {
    RandomRequests random(24);
    // Bins of 97 to 132 queries are blocks of their own, and blocks without bins end at 96.
    for (const std::size_t queries : {194, 240, 264}) {
      for (const Pooling::Reduction reduction : {mean, largest}) {
        CAPTURE(queries);
        AttentionRequest request =
            pooled_request(random, {queries, 20}, {400, 20}, DType::float32, {2, reduction});
        request.weight_expression = {"p * 0.5", {}};
        check_as_reference(request);
      }
    }
  });
}

TEST_CASE("masks hold in weights pooled inside the kernel") {
  on_every_target([] {
    RandomRequests random(22);
    for (const Pooling::Reduction reduction : {mean, largest}) {
      AttentionRequest request =
          pooled_request(random, {2, 4, 150, 20}, {2, 2, 450, 20}, DType::float32, {6, reduction});
      request.mask.causal = true;
      check_as_reference(request);
      request.mask.window = Window{30, {}};
      check_as_reference(request);
      request.mask.padding = random.flags({2, 450}, 0.3);
      request.softcap = 4.0;
      check_as_reference(request);
      attn::testing::for_masks(
          random,
          [&] {
            return pooled_request(random, {2, 4, 35, 20}, {2, 2, 150, 20}, DType::float32,
                                  {6, reduction});
          },
          check_as_reference);
    }
  });
}

TEST_CASE("bins that a row does not see hold zeros, however low its scores are") {
  on_every_target([] {
    // Shifts of −128 and others are where powers of the difference to no shift would overflow.
    for (const float score : {-88.7228F, -200.0F, -266.17F, -709.8F, -1000.0F}) {
      for (const DType dtype : {DType::float32, DType::float64}) {
        for (const Pooling::Reduction reduction : {mean, largest}) {
          CAPTURE(score);
          AttentionRequest request;
          request.score = attn::DotProduct{};
          request.dtype = dtype;
          request.threads = 1;
          sequences(request).query =
              Tensor({256, 64}, std::vector<float>(256 * 64, score / 64)).converted(dtype);
          sequences(request).key =
              Tensor({256, 64}, std::vector<float>(256 * 64, 1)).converted(dtype);
          sequences(request).value = sequences(request).key;
          request.weights = false;
          request.mask.causal = true;
          request.pool = Pooling{8, reduction};
          const AttentionResult result = pooled(request);
          const std::vector<double> cells = numbers(result.pooled);
          for (std::size_t i = 0; i < 8; ++i) {
            for (std::size_t j = i + 1; j < 8; ++j) {
              CHECK(cells[8 * i + j] == 0);
              CHECK_FALSE(std::signbit(cells[8 * i + j]));
            }
          }
          check_as_reference(request);
        }
      }
    }
  });
}

TEST_CASE("weights are pooled right where a row's largest score comes last") {
  on_every_target([] {
    // Each block of keys raises the largest score, the last by far more than a type's exponents.
    std::vector<float> key(1000);
    for (std::size_t j = 0; j < key.size(); ++j) {
      key[j] = static_cast<float>(j) * 0.01F + (j > 995 ? 100.0F : 0.0F);
    }
    AttentionRequest request;
    request.score = attn::DotProduct{};
    sequences(request).query = Tensor({3, 1}, std::vector<float>{1, 0.01F, -1});
    sequences(request).key = Tensor({1000, 1}, std::move(key));
    request.weights = false;
    request.threads = 1;
    for (const Pooling::Reduction reduction : {mean, largest}) {
      request.pool = Pooling{9, reduction};
      check_as_reference(request);
    }
  });
}

TEST_CASE("a map pooled inside the kernel has the same bits for any number of threads") {
  on_every_target([] {
    RandomRequests random(23);
    AttentionRequest request =
        pooled_request(random, {1, 2, 700, 20}, {1, 2, 700, 20}, DType::float32, {3, mean});
    const AttentionResult one = pooled(request);
    for (const std::size_t threads : {2, 3, 7}) {
      request.threads = threads;
      const AttentionResult many = pooled(request);
      CHECK(same_bits(many.pooled, one.pooled));
      CHECK(same_bits(many.output, one.output));
    }
  });
}
