#include "layers/recurrent_mixers.hpp"

#include <cmath>
#include <random>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include "layers/layer.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

constexpr std::size_t state_width = 5, tokens = 7, batch = 2;

class DrawnNumbers {
 public:
  Tensor operator()(const Shape& shape) {
    std::vector<double> numbers(element_count(shape));
    for (double& x : numbers) x = normal_(random_);
    return {shape, std::move(numbers)};
  }

 private:
  std::mt19937 random_{7};
  std::normal_distribution<double> normal_;
};

StateSpace drawn_space(DrawnNumbers& draw, std::size_t rank) {
  StateSpace own;
  own.sizes = {.heads = 4,
               .width = rank == 0 ? 3U : 1U,
               .states = 2,
               .groups = rank == 0 ? 2U : 1U,
               .kernel = 3,
               .rank = rank};
  const std::size_t inner = own.sizes.inner(), channels = own.sizes.channels();
  own.gate = Linear{draw({inner, state_width}), {}};
  own.channels = Linear{draw({channels, state_width}), draw({channels})};
  own.convolution = {draw({channels, 3}), draw({channels})};
  if (rank > 0) own.selection = Linear{draw({rank + 4, inner}), {}};
  own.step = Linear{draw({4, rank > 0 ? rank : state_width}), {}};
  own.step_bias = draw({4});
  own.decay_log = rank > 0 ? draw({4, 2}) : draw({4});
  own.skip = draw({4});
  if (rank == 0) own.norm = draw({inner});
  return own;
}

Tensor of_tokens(const Tensor& x, std::size_t first, std::size_t end) {
  std::vector<std::size_t> all;
  for (std::size_t i = first; i < end; ++i) all.push_back(i);
  return picked(x, all, 1);
}

// What a mixer makes of a text in parts, less what it makes of the whole, in parts of the largest
// number.
template <class Mix>
double difference_in_parts(const Mix& mix, const Tensor& x) {
  MixerState none, state;
  const Tensor whole = mix(x, none);
  double largest = 0, most = 1;
  for (const double y : whole.values<double>()) most = std::max(most, std::abs(y));
  std::size_t first = 0;
  for (const std::size_t end : {std::size_t{3}, std::size_t{4}, tokens}) {
    const Tensor part = mix(of_tokens(x, first, end), state);
    const Tensor want = of_tokens(whole, first, end);
    for (std::size_t i = 0; i < part.size(); ++i) {
      largest = std::max(largest, std::abs(part.values<double>()[i] - want.values<double>()[i]));
    }
    first = end;
  }
  return largest / most;
}

TEST_CASE("recurrent mixers give a text in parts what they give the whole") {
  DrawnNumbers draw;
  const Tensor x = draw({batch, tokens, state_width});
  for (const std::size_t rank : {0, 2}) {
    const StateSpace space = drawn_space(draw, rank);
    CHECK(difference_in_parts(
              [&](const Tensor& part, MixerState& state) {
                return state_space(space, part, 1e-5, 2, state);
              },
              x) < 1e-13);
  }
  const ShortConvolution convolution{Linear{draw({15, 5}), {}}, {draw({5, 3}), draw({5})}, {}};
  CHECK(difference_in_parts(
            [&](const Tensor& part, MixerState& state) {
              return short_convolution(convolution, part, 2, state);
            },
            x) < 1e-13);
}

TEST_CASE("a state space of one number is the sum of decayed inputs") {
  StateSpace own;
  own.sizes = {.heads = 1, .width = 1, .states = 1, .groups = 1, .kernel = 1};
  // The state has x, B, C, the gate and the step.
  const auto row = [](std::size_t at) {
    std::vector<double> numbers(5, 0);
    numbers[at] = 1;
    return numbers;
  };
  std::vector<double> rows;
  for (const std::size_t at : {0, 1, 2}) {
    const std::vector<double> one = row(at);
    rows.insert(rows.end(), one.begin(), one.end());
  }
  own.channels = Linear{Tensor({3, 5}, std::move(rows)), {}};
  own.gate = Linear{Tensor({1, 5}, row(3)), {}};
  own.step = Linear{Tensor({1, 5}, row(4)), {}};
  own.convolution = {Tensor({3, 1}, std::vector<double>{1, 1, 1}), {}};
  own.activation = Activation::relu;
  own.step_bias = Tensor({1}, std::vector<double>{0.5});
  own.decay_log = Tensor({1}, std::vector<double>{std::log(2.0)});
  own.skip = Tensor({1}, std::vector<double>{3});
  own.sizes.least_step = 0.7;
  const Tensor x({2, 5}, std::vector<double>{1, 2, 3, 0.4, 1, 5, 0.5, 2, -1, -4});
  MixerState state;
  const Tensor y = state_space(own, x, 1e-5, 1, state);
  const auto silu = [](double z) { return z / (1 + std::exp(-z)); };
  const double first = std::log1p(std::exp(1.5)), second = 0.7;
  const double memory = first * 1 * 2;
  const double later = std::exp(-2 * second) * memory + second * 5 * 0.5;
  CHECK(y.values<double>()[0] == doctest::Approx((3 * memory + 3 * 1) * silu(0.4)).epsilon(1e-14));
  CHECK(y.values<double>()[1] == doctest::Approx((2 * later + 3 * 5) * silu(-1.0)).epsilon(1e-14));
}

TEST_CASE("queries grow by steps with their position") {
  const QueryGrowth growth{.scale = 0.5, .length = 4, .shift = 1};
  CHECK(growth.at(2) == 1);
  CHECK(growth.at(3) == doctest::Approx(1 + 0.5 * std::log(2.0)).epsilon(1e-14));
  CHECK(growth.at(7) == doctest::Approx(1 + 0.5 * std::log(3.0)).epsilon(1e-14));
}

}  // namespace
}  // namespace attn
