#include "tensor/torch_random.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace {

using attn::Shape;
using attn::Tensor;
using attn::TorchRandom;

// One draw of PyTorch's: "randn 3 a b c".
struct Draw {
  std::uint64_t seed = 0;
  bool first = false;  // whether the generator is seeded before it
  std::string name;
  std::size_t outputs = 0, count = 0;
  float low = 0, high = 1;
  std::vector<float> expected;
};

std::vector<Draw> recorded_draws() {
  std::ifstream file(std::string(ATTN_TEST_DATA) + "/tensor/torch_numbers.txt");
  std::vector<Draw> draws;
  std::uint64_t seed = 0;
  bool first = false;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    Draw draw;
    line >> draw.name;
    if (draw.name == "#") continue;
    if (draw.name == "seed") {
      line >> seed;
      first = true;
      continue;
    }
    draw.seed = seed;
    draw.first = std::exchange(first, false);
    if (draw.name == "linear") line >> draw.outputs;
    line >> draw.count;
    if (draw.name == "uniform") line >> draw.low >> draw.high;
    for (float number = 0; line >> number;) draw.expected.push_back(number);
    draws.push_back(draw);
  }
  return draws;
}

std::vector<float> repeated(TorchRandom& random, const Draw& draw) {
  std::vector<float> numbers(draw.count);
  if (draw.name == "randn") {
    random.normal(numbers);
  } else if (draw.name == "rand" || draw.name == "uniform") {
    random.uniform(numbers, draw.low, draw.high);
  } else {
    // torch.nn.Linear: the weight, then the bias in the same range.
    const Tensor weight = attn::torch_linear_weight(random, draw.outputs, draw.count);
    const auto bound = static_cast<float>(1 / std::sqrt(static_cast<double>(draw.count)));
    std::vector<float> bias(draw.outputs);
    random.uniform(bias, -bound, bound);
    const auto values = weight.values<float>();
    numbers.assign(values.begin(), values.end());
    numbers.insert(numbers.end(), bias.begin(), bias.end());
  }
  return numbers;
}

std::vector<float> values(const Tensor& tensor) {
  const auto span = tensor.values<float>();
  return {span.begin(), span.end()};
}

TEST_CASE("the generator draws the numbers PyTorch prints") {
  const std::vector<Draw> draws = recorded_draws();
  REQUIRE(draws.size() == 118);
  TorchRandom random(0);
  float largest = 0;
  for (const Draw& draw : draws) {
    CAPTURE(draw.seed);
    CAPTURE(draw.name);
    CAPTURE(draw.count);
    if (draw.first) random = TorchRandom(draw.seed);
    const std::vector<float> numbers = repeated(random, draw);
    REQUIRE(numbers.size() == draw.expected.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      CAPTURE(i);
      const float difference = std::abs(numbers[i] - draw.expected[i]);
      largest = std::max(largest, difference);
      // Only normal numbers pass through another library's logarithm and cosine.
      REQUIRE(difference <= (draw.name == "randn" ? 3e-6F : 0.0F));
    }
  }
  MESSAGE("largest difference to PyTorch: " << largest);
}

TEST_CASE("only the low 32 bits of a seed count") {
  TorchRandom small(5), large((std::uint64_t{1} << 32U) + 5), other(6);
  const std::vector<float> numbers = values(attn::torch_randn(small, {20}));
  CHECK(numbers == values(attn::torch_randn(large, {20})));
  CHECK(numbers != values(attn::torch_randn(other, {20})));
}

TEST_CASE(
    "the second number of a pair is kept for the next small draw, past large and uniform ones") {
  TorchRandom paired(3), mixed(3);
  std::vector<float> pair(2), one(1), second(1), many(16), uniform(4);
  paired.normal(pair);
  mixed.normal(one);
  mixed.normal(many);
  mixed.uniform(uniform);
  mixed.normal(second);
  CHECK(one[0] == pair[0]);
  CHECK(second[0] == pair[1]);
}

TEST_CASE("an empty draw changes nothing") {
  TorchRandom random(3), untouched(3);
  random.normal({});
  random.uniform({});
  CHECK(values(attn::torch_rand(random, {4})) == values(attn::torch_rand(untouched, {4})));
}

TEST_CASE("uniform numbers stay within their bounds, the upper one excluded") {
  TorchRandom random(11);
  for (const float number : values(attn::torch_rand(random, {100, 100}))) {
    REQUIRE(number >= 0);
    REQUIRE(number < 1);
  }
  const std::vector<float> weight = values(attn::torch_linear_weight(random, 100, 100));
  CHECK(*std::max_element(weight.begin(), weight.end()) <= 0.1F);
  CHECK(*std::max_element(weight.begin(), weight.end()) > 0.0999F);
  CHECK(*std::min_element(weight.begin(), weight.end()) >= -0.1F);
  CHECK(*std::min_element(weight.begin(), weight.end()) < -0.0999F);
}

TEST_CASE("normal numbers are finite and have mean 0 and variance 1") {
  TorchRandom random(12);
  double sum = 0, squares = 0;
  constexpr std::size_t count = 100000;
  for (const float number : values(attn::torch_randn(random, {count}))) {
    REQUIRE(std::isfinite(number));
    sum += number;
    squares += static_cast<double>(number) * static_cast<double>(number);
  }
  CHECK(std::abs(sum / count) < 0.01);
  CHECK(std::abs(squares / count - 1) < 0.02);
}

TEST_CASE("random tensors have the shape asked for") {
  TorchRandom random(1);
  CHECK(attn::torch_randn(random, {2, 3}).shape() == Shape{2, 3});
  CHECK(attn::torch_rand(random, {}).size() == 1);
  CHECK(attn::torch_linear_weight(random, 3, 2).shape() == Shape{3, 2});
}

}  // namespace
