#include "attn/gradient.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "attention/random_request.hpp"
#include "error_from.hpp"

namespace {

using attn::AttentionRequest;
using attn::DType;
using attn::Gradients;
using attn::Kind;
using attn::ProjectedAttentionRequest;
using attn::Projections;
using attn::Shape;
using attn::Tensor;
using attn::testing::numbers;
using attn::testing::RandomRequests;
using attn::testing::sequences;

double loss(const Tensor& output, const Tensor& gradient) {
  const std::vector<double> o = numbers(output), g = numbers(gradient);
  double sum = 0;
  for (std::size_t i = 0; i < o.size(); ++i) sum += o[i] * g[i];
  return sum;
}

// Central differences with steps of 1e-5: the third derivative's part is about 1e-10 of numbers
// about 1, the rounding of the loss about 1e-15 / 1e-5.
void check_by_differences(const std::string& name, const Tensor& gradient, Tensor& parameter,
                          const std::function<double()>& loss_now) {
  CAPTURE(name);
  REQUIRE(gradient.shape() == parameter.shape());
  const Tensor kept = parameter;
  const std::vector<double> given = numbers(parameter), found = numbers(gradient);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!std::isfinite(given[i])) continue;
    const auto at = [&](double x) {
      std::vector<double> moved = given;
      moved[i] = x;
      parameter = Tensor(kept.shape(), std::move(moved));
      return loss_now();
    };
    constexpr double step = 1e-5;
    const double expected = (at(given[i] + step) - at(given[i] - step)) / (2 * step);
    CAPTURE(i);
    CHECK(std::abs(found[i] - expected) <= 2e-8 * (1 + std::abs(expected)));
  }
  parameter = kept;
}

const Tensor& named(const Gradients& all, const std::string& name) {
  for (const auto& [known, gradient] : all) {
    if (known == name) return gradient;
  }
  FAIL("there is no gradient of " << name);
  return all[0].second;
}

void check(RandomRequests& random, AttentionRequest request) {
  request.stages = false;
  request.dtype = DType::float64;
  const Tensor gradient = random.normal(attn::attend(request).output.shape());
  const Gradients all = attn::gradients(request, gradient);
  const auto loss_now = [&] { return loss(attn::attend(request).output, gradient); };
  std::size_t count = 0;
  const auto check_one = [&](const std::string& name, Tensor& parameter) {
    if (!parameter) return;
    check_by_differences(name, named(all, name), parameter, loss_now);
    ++count;
  };
  check_one("query", sequences(request).query);
  check_one("key", sequences(request).key);
  check_one("value", sequences(request).value);
  check_one("past_key", sequences(request).past_key);
  check_one("past_value", sequences(request).past_value);
  check_one("bias", request.mask.bias);
  check_one("sinks", request.sinks);
  check_one("gate", request.gate);
  if (request.relative_bias) check_one("relative_bias", request.relative_bias->table);
  const auto parameters = attn::info(attn::kind_of(request.score)).parameters;
  const std::vector<Tensor*> tensors = attn::parameters_of(request.score);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    check_one(std::string(parameters[i].name), *tensors[i]);
  }
  CHECK(count == all.size());
}

TEST_CASE("gradients of every kind of score are those of finite differences") {
  RandomRequests random(71);
  for (const Kind kind :
       {Kind::dot_product, Kind::scaled_dot_product, Kind::general, Kind::additive}) {
    CAPTURE(attn::info(kind).name);
    AttentionRequest request = random.request(kind, {2, 4, 3, 4}, {1, 2, 5, 4});
    request.softcap = 1.5;
    request.scale = 0.7;
    request.mask.bias = random.normal({3, 1});
    request.mask.causal = true;
    request.mask.align = attn::Alignment::lower_right;
    // The second sample has a query without keys.
    request.mask.valid_lens = Tensor({2}, std::vector<std::int64_t>{5, 2});
    check(random, request);
    request.mask = {};
    request.mask.block = random.flags({2, 1, 1, 5}, 0.4);
    request.mask.fill = -1;
    check(random, request);
  }
}

TEST_CASE("gradients pass through rotations, distances, sinks and a past") {
  RandomRequests random(72);
  AttentionRequest request = random.request(Kind::scaled_dot_product, {2, 4, 3, 6}, {2, 2, 4, 6});
  sequences(request).past_key = random.normal({1, 2, 2, 6});
  sequences(request).past_value = random.normal({1, 2, 2, sequences(request).value.shape()[3]});
  request.rotary.emplace();
  request.rotary->theta = 10;
  request.rotary->width = 4;
  request.rotary->positions = Tensor({2, 3}, std::vector<std::int64_t>{0, 1, 2, 5, 7, 9});
  request.rotary->key_positions = Tensor({4}, std::vector<std::int64_t>{2, 3, 4, 5});
  request.mask.alibi = attn::Alibi{{}, true};
  request.relative_bias = attn::RelativeBias{random.normal({8, 4}), 8, 6, true};
  request.sinks = random.normal({4});
  request.mask.bias = random.normal({4, 3, 6});
  check(random, request);
  request.rotary->interleaved = true;
  request.rotary->positions = request.rotary->key_positions = {};
  request.rotary->width.reset();
  request.rotary->cos = random.normal({2, 9, 3});
  request.rotary->sin = random.normal({2, 9, 3});
  request.mask.bias = {};
  check(random, request);
}

TEST_CASE("gradients pass through a gate") {
  RandomRequests random(79);
  AttentionRequest request = random.request(Kind::scaled_dot_product, {2, 2, 3, 4}, {2, 2, 5, 4});
  request.gate = random.normal(attn::attend(request).output.shape());
  check(random, request);
}

TEST_CASE("gradients pass through expressions of weights that underflow to 0") {
  RandomRequests random(83);
  AttentionRequest request = random.request(Kind::scaled_dot_product, {2, 4, 3, 4}, {2, 2, 5, 4});
  request.mask.block = random.flags({2, 1, 1, 5}, 0.4);
  request.mask.fill = -1e9;
  request.weight_expression = {"p + 0.5 + 0.1 * dot(q, k)", {}};
  check(random, request);
}

TEST_CASE("gradients pass through the weights that dropout keeps") {
  RandomRequests random(79);
  AttentionRequest request = random.request(Kind::scaled_dot_product, {2, 4, 3, 4}, {2, 2, 6, 4});
  request.sinks = random.normal({4});
  request.mask.causal = true;
  request.mask.align = attn::Alignment::lower_right;
  const Tensor kept = random.flags({2, 4, 3, 6}, 0.6);
  request.dropout = attn::Dropout{0.4, [&](const Shape&) { return kept; }};
  check(random, request);
  // Nothing is kept: nothing comes back.
  request.dropout = attn::Dropout{
      1, [&](const Shape& shape) { return Tensor(shape, std::vector<std::uint8_t>(144, 0)); }};
  check(random, request);
}

TEST_CASE("a tensor with several uses has the sum of its gradients") {
  RandomRequests random(73);
  AttentionRequest request = random.request(Kind::dot_product, {1, 2, 4, 3}, {1, 2, 4, 3});
  sequences(request).value = {};
  check(random, request);
  sequences(request).key = {};
  check(random, request);
}

TEST_CASE("gradients of split heads and of a past with its own axis of heads keep their shapes") {
  RandomRequests random(74);
  AttentionRequest request;
  sequences(request).query = random.normal({2, 3, 8});
  sequences(request).key = random.normal({2, 4, 4});
  sequences(request).value = random.normal({1, 4, 6});
  sequences(request).past_key = random.normal({2, 2, 3, 2});
  sequences(request).past_value = random.normal({2, 2, 3, 3});
  sequences(request).heads = 4;
  sequences(request).kv_heads = 2;
  check(random, request);
}

TEST_CASE("gradients of hidden states and projections are those of finite differences") {
  RandomRequests random(75);
  for (const bool memory : {false, true}) {
    CAPTURE(memory);
    ProjectedAttentionRequest request;
    request.dtype = DType::float64;
    request.states.query = random.normal({2, 3, 4});
    if (memory) {
      request.states.key = random.normal({2, 5, 3});
      request.states.value = random.normal({1, 5, 2});
      request.states.past_key = random.normal({2, 1, 2, 3});
      request.states.past_value = random.normal({2, 1, 2, 2});
      request.states.kv_heads = 1;
    }
    request.states.heads = 2;
    const std::size_t groups = memory ? 1 : 2, key = memory ? 3 : 4, value = memory ? 2 : 4;
    Projections& p = request.projections;
    p.query = {random.normal({6, 4}), random.normal({6})};
    p.key = {random.normal({groups * 3, key}), {}};
    p.value = {random.normal({groups * 2, value}), random.normal({groups * 2})};
    p.output = {random.normal({5, 4}), random.normal({5})};
    p.gate = {random.normal({4, 4}), random.normal({4})};
    request.mask.causal = true;
    const Tensor gradient = random.normal({2, 3, 5});
    const Gradients all = attn::gradients(request, gradient);
    const auto loss_now = [&] { return loss(attn::attend_projected(request).output, gradient); };
    for (const auto& [name, parameter] :
         std::vector<std::pair<std::string, Tensor*>>{{"query", &request.states.query},
                                                      {"key", &request.states.key},
                                                      {"value", &request.states.value},
                                                      {"past_key", &request.states.past_key},
                                                      {"past_value", &request.states.past_value},
                                                      {"W_q.weight", &p.query.weight},
                                                      {"W_q.bias", &p.query.bias},
                                                      {"W_k.weight", &p.key.weight},
                                                      {"W_v.weight", &p.value.weight},
                                                      {"W_v.bias", &p.value.bias},
                                                      {"W_o.weight", &p.output.weight},
                                                      {"W_o.bias", &p.output.bias},
                                                      {"W_gate.weight", &p.gate.weight},
                                                      {"W_gate.bias", &p.gate.bias}}) {
      if (*parameter) check_by_differences(name, named(all, name), *parameter, loss_now);
    }
  }
}

TEST_CASE("the number of threads changes no bit of a gradient") {
  RandomRequests random(76);
  AttentionRequest request = random.request(Kind::scaled_dot_product, {2, 2, 70, 5}, {2, 1, 90, 5});
  request.sinks = random.normal({2});
  const Tensor gradient = random.normal(attn::attend(request).output.shape());
  request.threads = 1;
  const Gradients one = attn::gradients(request, gradient);
  request.threads = 5;
  const Gradients five = attn::gradients(request, gradient);
  REQUIRE(one.size() == five.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(attn::testing::same_bits(one[i].second, five[i].second));
  }
}

TEST_CASE("a hidden key passes nothing back even if it holds NaN") {
  RandomRequests random(77);
  AttentionRequest request = random.request(Kind::scaled_dot_product, {1, 1, 3, 2}, {1, 1, 4, 2});
  std::vector<double> key = numbers(sequences(request).key);
  std::vector<double> value = numbers(sequences(request).value);
  key[3 * 2] = NAN;
  value.back() = NAN;
  sequences(request).key = Tensor({1, 1, 4, 2}, std::move(key));
  sequences(request).value = Tensor(sequences(request).value.shape(), std::move(value));
  request.mask.valid_lens = Tensor({1}, std::vector<std::int64_t>{3});
  const Tensor gradient = random.normal(attn::attend(request).output.shape());
  for (const auto& found : attn::gradients(request, gradient)) {
    CAPTURE(found.first);
    for (const double number : numbers(found.second)) CHECK(std::isfinite(number));
  }
}

TEST_CASE("what gradients are not offered for is refused") {
  RandomRequests random(78);
  AttentionRequest request = random.request(Kind::scaled_dot_product, {1, 1, 3, 2}, {1, 1, 4, 2});
  sequences(request).value = {};
  const Tensor gradient = random.normal({1, 1, 3, 2});
  const auto error = [&](const AttentionRequest& of, const Tensor& output) {
    return error_from([&] { attn::gradients(of, output); });
  };
  CHECK(error(request, random.normal({1, 3, 2})) ==
        "the gradient of the output [1,3,2] does not have the output's shape [1,1,3,2]\n"
        "  where: /gradient/output\n"
        "  help:  give one number for each of the output");
  AttentionRequest normed = request;
  normed.query_norm = attn::Norm{random.normal({2}), {}, attn::NormKind::rms};
  CHECK(error(normed, gradient) ==
        "there are no gradients through norms of queries\n"
        "  where: /query_norm\n"
        "  help:  leave it out, or the gradient");
  AttentionRequest half = request;
  half.dtype = DType::bfloat16;
  CHECK(error(half, gradient) ==
        "there are no gradients in bfloat16\n"
        "  where: /dtype\n"
        "  help:  choose float32 or float64");
}

}  // namespace
