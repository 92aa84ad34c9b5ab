#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "layers/layer.hpp"

namespace attn {
namespace {

double sigmoid_of(double x) {
  return 1 / (1 + std::exp(-x));
}

Experts three_experts(ShareRule shares) {
  Experts experts;
  experts.count = 3;
  experts.chosen = 2;
  experts.shares = shares;
  return experts;
}

const std::vector<double> scores{0.3, -1.2, 0.9};

TEST_CASE("what is added to the sum of sigmoids makes shares that sum to less than 1") {
  Experts experts = three_experts(ShareRule::sigmoid_of_chosen);
  experts.sum_plus = 0.5;
  const double first = sigmoid_of(0.9), second = sigmoid_of(0.3);
  const auto shares = best_experts(experts, scores);
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].expert == 2);
  CHECK(shares[0].share == doctest::Approx(first / (first + second + 0.5)));
  CHECK(shares[1].share == doctest::Approx(second / (first + second + 0.5)));
}

TEST_CASE("numbers that correct scores choose otherwise than those that correct sigmoids") {
  Experts experts = three_experts(ShareRule::sigmoid_of_chosen);
  experts.chosen = 1;
  experts.correction = {0, 1.6, 0};
  CHECK(best_experts(experts, scores).front().expert == 1);
  experts.corrects_scores = true;
  CHECK(best_experts(experts, scores).front().expert == 2);
  experts.correction = {0, 2.2, 0};
  const ExpertShare taken = best_experts(experts, scores).front();
  CHECK(taken.expert == 1);
  CHECK(taken.share == doctest::Approx(1));
}

TEST_CASE("a number of each expert multiplies its share after the softmax") {
  Experts experts = three_experts(ShareRule::of_chosen);
  experts.factors = {2, 1, 0.25};
  const auto shares = best_experts(experts, scores);
  const double sum = std::exp(0.9) + std::exp(0.3);
  CHECK(shares[0].share == doctest::Approx(0.25 * std::exp(0.9) / sum));
  CHECK(shares[1].share == doctest::Approx(2 * std::exp(0.3) / sum));
}

}  // namespace
}  // namespace attn
