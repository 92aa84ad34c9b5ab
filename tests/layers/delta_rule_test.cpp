#include "layers/delta_rule.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include "tensor/operations.hpp"

namespace attn {
namespace {

constexpr std::size_t width = 5, length = 7, texts = 2;

class Drawn {
 public:
  Tensor operator()(const Shape& shape) {
    std::vector<double> numbers(element_count(shape));
    for (double& x : numbers) x = normal_(random_);
    return {shape, std::move(numbers)};
  }

 private:
  std::mt19937 random_{3};
  std::normal_distribution<double> normal_;
};

DeltaRule drawn_rule(Drawn& draw) {
  DeltaRule rule;
  rule.sizes = {2, 4, 3, 2, 4};
  rule.query_key_value = Linear{draw({rule.sizes.channels(), width}), {}};
  rule.gate = Linear{draw({8, width}), {}};
  rule.strength = Linear{draw({4, width}), {}};
  rule.decay = Linear{draw({4, width}), {}};
  rule.convolution = draw({rule.sizes.channels(), rule.sizes.kernel});
  rule.decay_log = draw({4});
  rule.decay_bias = draw({4});
  rule.norm = draw({2});
  return rule;
}

// Tokens `first` … `end` − 1 of all texts.
Tensor between(const Tensor& x, std::size_t first, std::size_t end) {
  std::vector<std::size_t> tokens;
  for (std::size_t i = first; i < end; ++i) tokens.push_back(i);
  return picked(x, tokens, 1);
}

std::vector<double> numbers_of(const Tensor& x) {
  return {x.values<double>().begin(), x.values<double>().end()};
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST_CASE("a gated delta rule goes on from its state as if it had read the whole text") {
  Drawn draw;
  const DeltaRule rule = drawn_rule(draw);
  const Tensor x = draw({texts, length, width});
  MixerState whole;
  const Tensor all = delta_rule(rule, x, 1e-6, 1, whole);
  CHECK(all.shape() == Shape{texts, length, 8});
  // Also where a part is shorter than what the convolution sees.
  for (const std::size_t cut : {std::size_t{1}, std::size_t{2}, std::size_t{5}}) {
    CAPTURE(cut);
    MixerState state;
    const Tensor first = delta_rule(rule, between(x, 0, cut), 1e-6, 1, state),
                 second = delta_rule(rule, between(x, cut, length), 1e-6, 1, state);
    // The projections of one token sum in another order than those of several: numbers of size 1
    // differ by some 1e-16, and by what short queries and keys make of it.
    CHECK(largest_difference(numbers_of(first), numbers_of(between(all, 0, cut))) < 1e-13);
    CHECK(largest_difference(numbers_of(second), numbers_of(between(all, cut, length))) < 1e-13);
    CHECK(largest_difference(state.memory, whole.memory) < 1e-13);
    CHECK(largest_difference(state.channels, whole.channels) < 1e-13);
  }
}

TEST_CASE("a gated delta rule gives the same bits for any number of threads, and texts apart") {
  Drawn draw;
  const DeltaRule rule = drawn_rule(draw);
  const Tensor x = draw({texts, length, width});
  MixerState one, many, alone;
  const Tensor all = delta_rule(rule, x, 1e-6, 1, one);
  CHECK(numbers_of(delta_rule(rule, x, 1e-6, 4, many)) == numbers_of(all));
  const Tensor second = part_of(x, length * width, {length, width});
  const Tensor of_second = part_of(all, length * 8, {length, 8});
  CHECK(numbers_of(delta_rule(rule, second, 1e-6, 1, alone)) == numbers_of(of_second));
}

TEST_CASE("a gated delta rule of one token is its value by the likeness of query and key") {
  DeltaRule rule;
  rule.sizes = {1, 1, 1, 1, 1};
  // The query, the key and the value are 1, 2 and 3 times the state, before silu.
  rule.query_key_value = Linear{Tensor({3, 1}, std::vector<double>{1, 2, 3}), {}};
  rule.gate = rule.strength = rule.decay = Linear{Tensor({1, 1}, std::vector<double>{1}), {}};
  rule.convolution = Tensor({3, 1}, std::vector<double>{1, 1, 1});
  rule.decay_log = rule.decay_bias = Tensor({1}, std::vector<double>{0});
  rule.norm = Tensor({1}, std::vector<double>{2});
  MixerState state;
  const Tensor out = delta_rule(rule, Tensor({1, 1}, std::vector<double>{1}), 1, 1, state);
  const auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  const auto direction = [&](double x) { return silu(x) / std::sqrt(silu(x) * silu(x) + 1e-6); };
  const double written = silu(3) / (1 + std::exp(-1.0)) * direction(2);
  const double read = written * direction(1);
  CHECK(state.memory[0] == doctest::Approx(written).epsilon(1e-14));
  CHECK(out.values<double>()[0] ==
        doctest::Approx(2 * read / std::sqrt(read * read + 1) * silu(1)).epsilon(1e-14));
}

}  // namespace
}  // namespace attn
