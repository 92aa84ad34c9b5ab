#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"

#include "attention/random_request.hpp"
#include "kernels/every_target.hpp"

namespace {

using attn::AttentionRequest;
using attn::AttentionResult;
using attn::DType;
using attn::Shape;
using attn::Tensor;
using attn::testing::numbers;
using attn::testing::on_every_target;
using attn::testing::RandomRequests;
using attn::testing::sequences;

constexpr float infinite = std::numeric_limits<float>::infinity();

// Few queries, narrow heads, wide ones: enough of each for the kernels to compute.
const std::vector<std::array<std::size_t, 3>> large_sizes = {
    {6, 8192, 64}, {300, 1000, 8}, {64, 700, 64}};

AttentionRequest random_request(RandomRequests& random, std::size_t queries, std::size_t keys,
                                std::size_t width) {
  AttentionRequest request;
  sequences(request).query = random.normal({queries, width}).converted(DType::float32);
  sequences(request).key = random.normal({keys, width}).converted(DType::float32);
  sequences(request).value = random.normal({keys, width}).converted(DType::float32);
  return request;
}

// Keys whose products with equal numbers cancel on their way to a small score.
std::vector<float> cancelling_keys(std::size_t keys, std::size_t width) {
  std::vector<float> key(keys * width);
  for (std::size_t i = 0; i < key.size(); ++i) {
    key[i] = (i % width < width / 2 ? 99.0F : -99.0F) + static_cast<float>(i / width % 7) / 512;
  }
  return key;
}

// With and without weights, as in double precision: weights to a relative 2e-5, outputs to that of
// the values, which are about 1.
void check_precision(AttentionRequest request) {
  const AttentionResult single = attn::attend(request);
  request.weights = false;
  const AttentionResult output = attn::attend(request);
  request.weights = true;
  request.dtype = DType::float64;
  const AttentionResult exact = attn::attend(request);
  const std::vector<double> weights = numbers(exact.weights), values = numbers(exact.output);
  const std::vector<double> rounded = numbers(single.weights);
  double worst = 0;
  const auto note = [&](double error) { worst = error <= worst ? worst : error; };
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 1e-30) note(std::abs(rounded[i] / weights[i] - 1));
  }
  const std::vector<double> with = numbers(single.output), without = numbers(output.output);
  for (std::size_t i = 0; i < values.size(); ++i) {
    note(std::abs(with[i] - values[i]));
    note(std::abs(without[i] - values[i]));
  }
  CHECK(worst <= 2e-5);
}

Tensor with_column(const Tensor& tensor, std::size_t row, float number) {
  const auto values = tensor.values<float>();
  std::vector<float> copy(values.begin(), values.end());
  copy[row * tensor.shape()[1]] = number;
  return {tensor.shape(), std::move(copy)};
}

}  // namespace

TEST_CASE("scores whose digits single precision would lose are computed in double precision") {
  on_every_target([] {
    RandomRequests random(41);
    for (const auto& sizes : large_sizes) {
      const auto queries = sizes[0], keys = sizes[1], width = sizes[2];
      CAPTURE(queries);
      CAPTURE(width);
      AttentionRequest request = random_request(random, queries, keys, width);
      for (const double scale : {3.0, 30.0}) {
        request.scale = scale;
        check_precision(request);
      }
      // A bias that all keys share, and one that takes the place of the products.
      request.scale.reset();
      std::vector<double> bias = numbers(random.normal({keys}));
      for (double& term : bias) term += 1e4;
      request.mask.bias = attn::testing::doubles({keys}, bias);
      check_precision(request);
      for (double& term : bias) term -= 1e9;
      request.mask.bias = attn::testing::doubles({keys}, bias);
      check_precision(request);
      // Products that cancel on their way to a small score.
      AttentionRequest cancelled = random_request(random, queries, keys, width);
      cancelled.scale = 1.0 / 64;
      sequences(cancelled).query =
          Tensor({queries, width}, std::vector<float>(queries * width, 100.0F));
      sequences(cancelled).key = Tensor({keys, width}, cancelling_keys(keys, width));
      check_precision(cancelled);
    }
  });
}

TEST_CASE("queries of heads that share keys are computed in double precision where one needs it") {
  on_every_target([] {
    RandomRequests random(43);
    constexpr std::size_t queries = 8, keys = 8192, width = 64;
    // The rows of all heads pass the keys together, 16 and more of them side by side in lanes.
    for (const std::size_t heads : {2, 4, 5}) {
      CAPTURE(heads);
      const auto drawn = [&](const Shape& shape) {
        return random.normal(shape).converted(DType::float32);
      };
      AttentionRequest request;
      sequences(request).query = drawn({1, heads, queries, width});
      sequences(request).key = drawn({1, 1, keys, width});
      sequences(request).value = drawn({1, 1, keys, width});
      for (const double scale : {0.125, 3.0, 30.0}) {
        request.scale = scale;
        check_precision(request);
      }
      // One head's scores are too large, those of the others are not.
      request.scale.reset();
      std::vector<double> query = numbers(sequences(request).query);
      for (std::size_t i = 0; i < queries * width; ++i)
        query[(heads - 1) * queries * width + i] *= 240;
      sequences(request).query =
          attn::testing::doubles({1, heads, queries, width}, query).converted(DType::float32);
      check_precision(request);
      request.scale = 1.0 / 64;
      sequences(request).query =
          Tensor({1, heads, queries, width}, std::vector<float>(heads * queries * width, 100.0F));
      sequences(request).key = Tensor({1, 1, keys, width}, cancelling_keys(keys, width));
      check_precision(request);
    }
  });
}

TEST_CASE("a weight that underflows to 0 makes NaN of an infinite value, a hidden key nothing") {
  on_every_target([] {
    // The first size is for the reference.
    for (const auto& sizes : std::vector<std::array<std::size_t, 3>>{
             {2, 4, 3}, {6, 8192, 64}, {300, 1000, 8}, {64, 700, 64}}) {
      const auto queries = sizes[0], keys = sizes[1], width = sizes[2];
      CAPTURE(queries);
      CAPTURE(width);
      // e⁻¹¹⁰ is 0 in single precision, e⁻⁹² / 8192 is not.
      constexpr std::size_t vanishing = 1, small = 2;
      std::vector<float> query(queries * width, 0.0F), key(keys * width, 0.0F);
      for (std::size_t i = 0; i < queries; ++i) query[i * width] = 1;
      key[vanishing * width] = -110;
      key[small * width] = -92;
      AttentionRequest request;
      request.score = attn::DotProduct{};
      sequences(request).query = Tensor({queries, width}, query);
      sequences(request).key = Tensor({keys, width}, key);
      const Tensor ones({keys, width}, std::vector<float>(keys * width, 1.0F));
      const auto outputs = [&](const Tensor& value) {
        sequences(request).value = value;
        std::array<double, 2> first{};
        for (const bool weights : {false, true}) {
          request.weights = weights;
          const AttentionResult result = attn::attend(request);
          const std::vector<double> output = numbers(result.output);
          first[weights ? 1 : 0] = output[0];
          for (std::size_t i = 1; i < output.size(); ++i) {
            // All queries are the same, and the other columns know nothing of the first.
            const double expected = i % width == 0 ? output[0] : 1;
            const double error = std::abs(output[i] - expected);
            if (!(error <= 1e-6) && !(std::isnan(output[i]) && std::isnan(expected)) &&
                output[i] != expected) {
              FAIL("output " << i << " is " << output[i]);
            }
          }
          if (weights) {
            CHECK(numbers(result.weights)[vanishing] == 0);
            CHECK(numbers(result.weights)[small] ==
                  doctest::Approx(std::exp(-92.0) / static_cast<double>(keys - 2)).epsilon(0.2));
          }
        }
        CHECK((first[0] == doctest::Approx(first[1]) ||
               (std::isnan(first[0]) && std::isnan(first[1])) || first[0] == first[1]));
        return first[0];
      };
      CHECK(std::isnan(outputs(with_column(ones, vanishing, infinite))));
      CHECK(outputs(with_column(ones, small, infinite)) == static_cast<double>(infinite));
      CHECK(std::abs(outputs(with_column(ones, vanishing, 3e38F)) - 1) <= 1e-6);
      CHECK(std::abs(outputs(with_column(ones, vanishing, 1e34F)) - 1) <= 1e-6);
      const double enormous = outputs(with_column(ones, small, 3e38F));
      CHECK(enormous == doctest::Approx(1 + 3e38 * std::exp(-92.0) / static_cast<double>(keys - 2))
                            .epsilon(1e-4));
      // Hidden, the key contributes nothing.
      std::vector<std::uint8_t> block(keys, 0);
      block[vanishing] = block[small] = 1;
      request.mask.block = Tensor({keys}, std::move(block));
      sequences(request).value =
          with_column(with_column(ones, small, infinite), vanishing, infinite);
      for (const bool weights : {false, true}) {
        request.weights = weights;
        for (const double x : numbers(attn::attend(request).output)) {
          if (!(std::abs(x - 1) <= 1e-6)) FAIL("a hidden key leaves " << x);
        }
      }
      request.mask = {};
    }
  });
}
