#include "attention/projected_attention.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/layers.hpp"

#include "attention/random_request.hpp"
#include "attention/recorded_case.hpp"
#include "error_from.hpp"

namespace {

using namespace attn::testing;
using attn::attend_projected;
using attn::AttentionResult;
using attn::DType;
using attn::ProjectedAttentionRequest;
using attn::Shape;
using attn::Tensor;

ProjectedAttentionRequest random_request(RandomRequests& random) {
  ProjectedAttentionRequest request;
  request.dtype = DType::float64;
  request.states.query = random.normal({2, 3, 4});
  request.projections = {{random.normal({6, 4}), random.normal({6})},
                         {random.normal({6, 4}), {}},
                         {random.normal({6, 4}), {}},
                         {random.normal({5, 6}), random.normal({5})}};
  return request;
}

std::string error_of(const ProjectedAttentionRequest& wrong) {
  return error_from([&] { attend_projected(wrong); });
}

// x Wᵀ + b, an entry at a time.
Tensor linear(const Tensor& x, const attn::Linear& layer) {
  const std::vector<double> in = numbers(x), w = numbers(layer.weight), b = numbers(layer.bias);
  const std::size_t outputs = layer.weight.shape()[0], inputs = layer.weight.shape()[1];
  std::vector<double> y;
  for (std::size_t at = 0; at < x.size() / inputs * outputs; ++at) {
    double sum = layer.bias ? b[at % outputs] : 0;
    for (std::size_t i = 0; i < inputs; ++i) {
      sum += in[at / outputs * inputs + i] * w[at % outputs * inputs + i];
    }
    y.push_back(sum);
  }
  Shape shape = x.shape();
  shape.back() = outputs;
  return doubles(shape, y);
}

TEST_CASE("projected attention gives the numbers of torch.nn.MultiheadAttention") {
  check_recorded(recorded_cases("layers.txt", "projected"),
                 [](const RecordedCase& one, DType dtype) {
                   ProjectedAttentionRequest request{one.attention_options(), one.sequences(),
                                                     one.projections("")};
                   request.dtype = dtype;
                   const AttentionResult result = attend_projected(request);
                   return Results{{"weights", result.weights}, {"output", result.output}};
                 });
}

TEST_CASE("projected attention is the scaled dot product of projected states, projected again") {
  RandomRequests random(1);
  for (const bool split : {false, true}) {
    CAPTURE(split);
    ProjectedAttentionRequest request = random_request(random);
    if (split) request.states.heads = 3;
    request.mask.causal = true;
    attn::ScaledDotProduct score{request.states};
    score.query = linear(request.states.query, request.projections.query);
    score.key = linear(request.states.query, request.projections.key);
    score.value = linear(request.states.query, request.projections.value);
    const attn::AttentionRequest inner{request, score};
    const AttentionResult expected = attn::attend(inner), result = attend_projected(request);
    CHECK(result.weights.shape() == (split ? Shape{2, 3, 3, 3} : Shape{2, 3, 3}));
    CHECK(difference(result.weights, expected.weights) < 1e-13);
    CHECK(difference(result.output, linear(expected.output, request.projections.output)) < 1e-12);
  }
}

TEST_CASE("projected attention has the same bits each time, however many threads there are") {
  RandomRequests random(5);
  ProjectedAttentionRequest request;
  request.states.query = random.normal({2, 128, 256}).converted(DType::float32);
  request.states.heads = 4;
  const auto layer = [&] {
    return attn::Linear{random.normal({256, 256}).converted(DType::float32), {}};
  };
  request.projections = {layer(), layer(), layer(), layer()};
  request.threads = 1;
  const AttentionResult alone = attend_projected(request);
  for (int round = 0; round < 24; ++round) {
    request.threads = round % 2 == 0 ? 0 : 2;
    const AttentionResult result = attend_projected(request);
    REQUIRE(same_bits(result.weights, alone.weights));
    REQUIRE(same_bits(result.output, alone.output));
  }
}

TEST_CASE("past keys and values of projected attention may have an axis of heads or not") {
  RandomRequests random(2);
  ProjectedAttentionRequest request = random_request(random);
  request.states.heads = 2;
  request.states.past_key = random.normal({2, 2, 1, 3});
  request.states.past_value = random.normal({2, 2, 1, 3});
  const AttentionResult apart = attend_projected(request);
  // With one row a head the numbers stand in the same order in both shapes.
  request.states.past_key = request.states.past_key.reshaped({2, 1, 6});
  request.states.past_value = request.states.past_value.reshaped({2, 1, 6});
  const AttentionResult side_by_side = attend_projected(request);
  CHECK(apart.weights.shape() == Shape{2, 2, 3, 4});
  CHECK(same_bits(apart.weights, side_by_side.weights));
  CHECK(same_bits(apart.output, side_by_side.output));
}

TEST_CASE("no heads are an error of projected attention too") {
  RandomRequests random(3);
  ProjectedAttentionRequest request = random_request(random);
  request.states.heads = 0;
  CHECK(error_of(request) == "heads is 0\n  where: /heads\n  help:  give at least one head");
  request.states.heads = 2;
  request.states.kv_heads = 0;
  CHECK(error_of(request) == "kv_heads is 0\n  where: /kv_heads\n  help:  give at least one head");
}

TEST_CASE("hidden states without elements are an error") {
  RandomRequests random(4);
  ProjectedAttentionRequest request = random_request(random);
  request.states.query = doubles({3, 0}, {});
  CHECK(error_of(request) ==
        "query [3,0] has an axis of size 0\n  where: /query\n"
        "  help:  give every axis at least one element");
}

TEST_CASE("hidden states have no axis of heads") {
  RandomRequests random(5);
  ProjectedAttentionRequest request = random_request(random);
  request.states.query = random.normal({1, 1, 3, 4});
  CHECK(error_of(request) ==
        "query [1,1,3,4] is not [L,D] or [B,L,D]\n  where: /query\n"
        "  help:  give hidden states without a head axis: the projections make the heads");
}

TEST_CASE("projections that do not make the heads are an error") {
  RandomRequests random(6);
  ProjectedAttentionRequest request = random_request(random);
  request.states.heads = 4;
  CHECK(error_of(request) ==
        "W_q.weight has 6 rows, which is not divisible by 4 heads\n"
        "  where: /heads\n  help:  choose a number of heads that divides the rows");
  request.states.heads = 2;
  request.projections.key.weight = random.normal({4, 4});
  CHECK(error_of(request) ==
        "W_q.weight makes heads of width 3, W_k.weight of width 2\n"
        "  where: /parameters/W_k.weight\n  help:  give both the same number of rows per head; "
        "fewer key heads are set by \"kv_heads\"");
  request.projections.key.weight = random.normal({6, 5});
  CHECK(error_of(request) ==
        "W_k.weight [6,5] does not fit: expected [out,4]\n  where: /parameters/W_k.weight\n"
        "  help:  its second axis is the width of what it is applied to, [2,3,4]");
}

}  // namespace
