#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"

#include "attention/random_request.hpp"

// The 11 conformance cases of ONNX's FlexAttention (onnx/onnx, onnx/backend/test/case/node, class
// FlexAttention, domain ai.onnx.preview): names, sizes and modifications. Inputs are drawn anew,
// evenly from 0 to 1 as there, and results computed a second time from the operator's definition.

namespace {

using attn::DType;
using attn::Shape;
using attn::Tensor;
using attn::testing::numbers;

struct FlexSizes {
  std::size_t batch, heads, kv_heads, queries, keys, width, value_width;
};

struct FlexCase {
  std::string name;
  FlexSizes sizes;
  std::string score_mod, prob_mod;
  std::function<double(double s, double i, double j)> score;
  std::function<double(double p)> weight;
  DType dtype = DType::float32;
  double scale = 0;  // 0 = 1/√width
};

const std::vector<FlexCase>& flex_cases() {
  static const FlexSizes usual{2, 4, 4, 8, 6, 16, 16}, tiny{1, 2, 2, 3, 3, 4, 4},
      square{1, 2, 2, 4, 4, 8, 8};
  static const std::vector<FlexCase> cases{
      {"flexattention", usual, "", "", {}, {}},
      {"flexattention_scaled", usual, "", "", {}, {}, DType::float32, 0.1},
      {"flexattention_gqa", {2, 8, 2, 4, 6, 16, 16}, "", "", {}, {}},
      {"flexattention_diff_head_sizes", {2, 4, 4, 8, 6, 16, 32}, "", "", {}, {}},
      {"flexattention_score_mod",
       tiny,
       "s + 0.5",
       "",
       [](double s, double, double) { return s + 0.5; },
       {}},
      {"flexattention_prob_mod", tiny, "", "p * 0.5", {}, [](double p) { return p * 0.5; }},
      {"flexattention_fp16", usual, "", "", {}, {}, DType::float16},
      {"flexattention_double", usual, "", "", {}, {}, DType::float64},
      {"flexattention_causal_mask",
       square,
       "i >= j ? s : -inf",
       "",
       [](double s, double i, double j) { return i >= j ? s : -HUGE_VAL; },
       {}},
      {"flexattention_soft_cap",
       square,
       "tanh(s / 20) * 20",
       "",
       [](double s, double, double) { return std::tanh(s / 20) * 20; },
       {}},
      {"flexattention_relative_positional",
       square,
       "s + (i - j)",
       "",
       [](double s, double i, double j) { return s + (i - j); },
       {}},
  };
  return cases;
}

// The output by the definition of FlexAttention, from the numbers as the request has them.
std::vector<double> defined(const FlexCase& one, const attn::Sequences& inputs) {
  const FlexSizes& n = one.sizes;
  const auto Q = numbers(inputs.query), K = numbers(inputs.key), V = numbers(inputs.value);
  const double scale = one.scale > 0 ? one.scale : 1 / std::sqrt(static_cast<double>(n.width));
  std::vector<double> output;
  for (std::size_t row = 0; row < n.batch * n.heads * n.queries; ++row) {
    const std::size_t i = row % n.queries, map = row / n.queries;
    const std::size_t kv = map / n.heads * n.kv_heads + map % n.heads / (n.heads / n.kv_heads);
    std::vector<double> scores;
    for (std::size_t j = 0; j < n.keys; ++j) {
      double s = 0;
      for (std::size_t c = 0; c < n.width; ++c) {
        s += Q[row * n.width + c] * K[(kv * n.keys + j) * n.width + c];
      }
      s *= scale;
      scores.push_back(one.score ? one.score(s, static_cast<double>(i), static_cast<double>(j))
                                 : s);
    }
    double sum = 0;
    for (const double s : scores) sum += std::exp(s);
    for (std::size_t c = 0; c < n.value_width; ++c) {
      double y = 0;
      for (std::size_t j = 0; j < n.keys; ++j) {
        const double p = std::exp(scores[j]) / sum;
        y += (one.weight ? one.weight(p) : p) * V[(kv * n.keys + j) * n.value_width + c];
      }
      output.push_back(y);
    }
  }
  return output;
}

TEST_CASE("FlexAttention of ONNX gives the same in its 11 conformance cases") {
  attn::testing::RandomRequests random(26);
  for (const FlexCase& one : flex_cases()) {
    CAPTURE(one.name);
    const FlexSizes& n = one.sizes;
    const auto drawn = [&](Shape shape) {
      std::vector<double> all = numbers(random.normal(shape));
      for (double& x : all) x = 0.5 + std::erf(x / std::sqrt(2.0)) / 2;
      return Tensor(std::move(shape), std::move(all)).converted(one.dtype);
    };
    attn::Sequences inputs{drawn({n.batch, n.heads, n.queries, n.width}),
                           drawn({n.batch, n.kv_heads, n.keys, n.width}),
                           drawn({n.batch, n.kv_heads, n.keys, n.value_width})};
    attn::AttentionOptions options;
    options.dtype = one.dtype;
    if (one.scale > 0) options.scale = one.scale;
    if (!one.score_mod.empty()) options.score_expression = {one.score_mod, {}};
    if (!one.prob_mod.empty()) options.weight_expression = {one.prob_mod, {}};
    const auto found = numbers(attn::attend(inputs, options).output);
    const auto expected = defined(one, inputs);
    // Those of the conformance tests: 1e-3 relative and 1e-7 absolute; float16 rounds each step.
    const double bound = one.dtype == DType::float16   ? 2e-3
                         : one.dtype == DType::float32 ? 2e-7
                                                       : 1e-14;
    REQUIRE(found.size() == expected.size());
    for (std::size_t at = 0; at < found.size(); ++at) {
      CHECK(std::abs(found[at] - expected[at]) <= bound * std::abs(expected[at]));
    }
  }
}

}  // namespace
