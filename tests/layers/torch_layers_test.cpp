#include "layers/torch_layers.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "attention/random_request.hpp"
#include "attention/recorded_case.hpp"
#include "error_from.hpp"

namespace {

using namespace attn::testing;
using attn::DType;
using attn::Shape;
using attn::TransformerLayer;
using attn::TransformerRequest;
using attn::TransformerResult;

TransformerRequest request_of(const RecordedCase& one) {
  TransformerRequest request;
  static_cast<attn::AttentionOptions&>(request) = one.attention_options();
  request.x = one.tensor("x");
  request.heads = one.count("heads");
  request.kv_heads = one.count("kv_heads");
  request.decoder = one.word("kind") == "decoder";
  request.memory = one.tensor("memory");
  request.memory_mask = one.mask("memory_mask.", false);
  request.eps = one.number("eps").value_or(1e-5);
  if (one.word("norm") == "pre") request.norm = attn::NormPlace::pre;
  if (one.word("activation") == "gelu") request.activation = attn::Activation::gelu;
  for (std::size_t i = 0; i < one.count("layers").value(); ++i) {
    const std::string prefix = std::to_string(i) + ".";
    request.layers.push_back(
        {one.projections(prefix + "self_attn."), one.projections(prefix + "multihead_attn."),
         one.linear(prefix + "linear1"), one.linear(prefix + "linear2"), one.norm(prefix + "norm1"),
         one.norm(prefix + "norm2"), one.norm(prefix + "norm3"), one.linear(prefix + "linear3")});
  }
  return request;
}

Results results_of(const RecordedCase& one, DType dtype) {
  TransformerRequest request = request_of(one);
  request.dtype = dtype;
  const TransformerResult result = transform(request);
  Results results{{"output", result.output}};
  for (std::size_t i = 0; i < result.layers.size(); ++i) {
    results[std::to_string(i) + ".self.weights"] = result.layers[i].self.weights;
    results[std::to_string(i) + ".cross.weights"] = result.layers[i].cross.weights;
  }
  return results;
}

// A sound decoder of two layers over [2,3,4], its memory [2,5,4].
TransformerRequest sound(bool decoder = true) {
  RandomRequests random(5);
  TransformerRequest request;
  request.dtype = DType::float64;
  request.x = random.normal({2, 3, 4});
  request.heads = 2;
  request.decoder = decoder;
  if (decoder) request.memory = random.normal({2, 5, 4});
  const auto square = [&] { return attn::Linear{random.normal({4, 4}), random.normal({4})}; };
  for (int i = 0; i < 2; ++i) {
    TransformerLayer layer;
    layer.self_attn = {square(), square(), square(), square()};
    if (decoder) layer.multihead_attn = {square(), square(), square(), square()};
    layer.linear1 = {random.normal({6, 4}), random.normal({6})};
    layer.linear2 = {random.normal({4, 6}), random.normal({4})};
    request.layers.push_back(layer);
  }
  return request;
}

std::string refusal(const TransformerRequest& request) {
  return error_from([&] { transform(request); });
}

TEST_CASE("encoder layers give the numbers of torch.nn.TransformerEncoderLayer") {
  check_recorded(recorded_cases("layers.txt", "encoder"), results_of);
}

TEST_CASE("decoder layers give the numbers of torch.nn.TransformerDecoderLayer") {
  check_recorded(recorded_cases("layers.txt", "decoder"), results_of);
}

TEST_CASE("a stack is one layer after the other") {
  const TransformerRequest both = sound();
  TransformerRequest first = both, second = both;
  first.layers.pop_back();
  second.layers.erase(second.layers.begin());
  second.x = transform(first).output;
  CHECK(same_bits(transform(both).output, transform(second).output));
}

TEST_CASE("layers are the same on any number of threads") {
  TransformerRequest request = sound();
  request.threads = 1;
  const TransformerResult one = transform(request);
  request.threads = 3;
  const TransformerResult three = transform(request);
  CHECK(same_bits(one.output, three.output));
  CHECK(same_bits(one.layers[1].cross.weights, three.layers[1].cross.weights));
}

// A decoder large enough for single precision: two layers of width 48 over [2,90,48].
TransformerRequest large() {
  RandomRequests random(7);
  const std::size_t width = 48, hidden = 128;
  TransformerRequest request;
  request.x = random.normal({2, 90, width});
  request.heads = 3;
  request.mask.causal = true;
  request.decoder = true;
  request.memory = random.normal({2, 110, width});
  // Weights of the size that layers are initialised with: states keep their size.
  const auto linear = [&](std::size_t outputs, std::size_t inputs) {
    std::vector<double> weight = numbers(random.normal({outputs, inputs}));
    for (double& w : weight) w /= std::sqrt(static_cast<double>(3 * inputs));
    return attn::Linear{doubles({outputs, inputs}, std::move(weight)), random.normal({outputs})};
  };
  const auto square = [&] { return linear(width, width); };
  for (int i = 0; i < 2; ++i) {
    TransformerLayer layer;
    layer.self_attn = {square(), square(), square(), square()};
    layer.multihead_attn = {square(), square(), square(), square()};
    layer.linear1 = linear(hidden, width);
    layer.linear2 = linear(width, hidden);
    request.layers.push_back(layer);
  }
  return request;
}

TEST_CASE("large layers in float32 are computed in single precision, near double precision") {
  for (const bool gelu_first : {false, true}) {
    TransformerRequest request = large();
    if (gelu_first) {
      request.activation = attn::Activation::gelu;
      request.norm = attn::NormPlace::pre;
    }
    request.dtype = DType::float64;
    const TransformerResult exact = transform(request);
    request.dtype = DType::float32;
    const TransformerResult single = transform(request);
    CHECK(single.output.dtype() == DType::float32);
    CHECK(single.layers[0].self.weights.dtype() == DType::float32);
    // Computed in double precision and rounded it would be the same to the bit.
    CHECK_FALSE(same_bits(single.output, exact.output.converted(DType::float32)));
    double size = 0;
    for (const double x : numbers(exact.output)) size = std::max(size, std::abs(x));
    // The part of the largest number that docs/documents.md allows.
    CHECK(difference(single.output, exact.output) <= 2e-5 * size);
    CHECK(difference(single.layers[1].cross.weights, exact.layers[1].cross.weights) <= 2e-5);
    request.threads = 1;
    const TransformerResult one = transform(request);
    for (const std::size_t threads : {2, 3, 7}) {
      request.threads = threads;
      const TransformerResult many = transform(request);
      CHECK(same_bits(one.output, many.output));
      CHECK(same_bits(one.layers[1].self.weights, many.layers[1].self.weights));
    }
  }
}

TEST_CASE("large layers whose numbers leave single precision are computed in double precision") {
  TransformerRequest request = large();
  // Beyond 3.4e38 between the two Linear layers, and back again.
  for (TransformerLayer& layer : request.layers) {
    const auto scaled = [](const attn::Linear& linear, double factor) {
      std::vector<double> weight = numbers(linear.weight);
      for (double& w : weight) w *= factor;
      return attn::Linear{doubles(linear.weight.shape(), std::move(weight)), linear.bias};
    };
    layer.linear1 = scaled(layer.linear1, 1e39);
    layer.linear2 = scaled(layer.linear2, 1e-39);
  }
  request.dtype = DType::float64;
  const TransformerResult exact = transform(request);
  request.dtype = DType::float32;
  CHECK(same_bits(transform(request).output, exact.output.converted(DType::float32)));
}

TEST_CASE("the attention of a layer has all stages, as the attention alone has them") {
  TransformerRequest request = sound(false);
  request.stages = true;
  request.mask.causal = true;
  const attn::AttentionResult self = transform(request).layers[0].self;
  attn::ProjectedAttentionRequest alone{request, {request.x}, request.layers[0].self_attn};
  alone.states.heads = request.heads;
  const attn::AttentionResult expected = attend_projected(alone);
  CHECK(same_bits(self.scores, expected.scores));
  CHECK(same_bits(self.masked, expected.masked));
  CHECK(same_bits(self.lse, expected.lse));
  CHECK(same_bits(self.output, expected.output));
  CHECK(self.allowed.shape() == Shape{2, 2, 3, 3});
}

TEST_CASE("layers refuse what is missing or does not add up") {
  TransformerRequest request = sound();
  request.memory = {};
  CHECK(refusal(request) ==
        "there is no memory\n  where: /memory\n"
        "  help:  give the encoder's hidden states [L,D] or [B,L,D]");
  request = sound();
  request.layers.clear();
  CHECK(refusal(request) ==
        "there are no layers\n  where: /layers\n  help:  give at least one layer");
  request = sound();
  request.x = {};
  CHECK(refusal(request) ==
        "there is no query\n  where: /query\n  help:  give hidden states [L,D] or [B,L,D]");
  request = sound();
  request.eps = -1;
  CHECK(refusal(request) ==
        "eps is not a finite positive number\n  where: /eps\n"
        "  help:  give a small positive number such as 1e-5");

  RandomRequests random(6);
  request = sound();
  request.layers[1].linear2.weight = random.normal({5, 6});
  request.layers[1].linear2.bias = {};
  CHECK(refusal(request) ==
        "layers.1.linear2.weight gives [2,3,5], which cannot be added to the hidden states "
        "[2,3,4]\n"
        "  where: /parameters/layers.1.linear2.weight\n"
        "  help:  give it as many rows as the hidden states are wide");
  request = sound();
  request.layers[0].multihead_attn.output.weight = random.normal({3, 4});
  request.layers[0].multihead_attn.output.bias = {};
  CHECK(refusal(request) ==
        "layers.0.multihead_attn.W_o.weight gives [2,3,3], which cannot be added to the hidden "
        "states [2,3,4]\n"
        "  where: /parameters/layers.0.multihead_attn.W_o.weight\n"
        "  help:  give it as many rows as the hidden states are wide");
  request = sound(false);
  request.layers.pop_back();
  request.layers[0].self_attn.output = {};
  request.layers[0].self_attn.value = {random.normal({6, 4}), {}};
  CHECK(refusal(request) ==
        "self_attn.W_v.weight gives [2,3,6], which cannot be added to the hidden states [2,3,4]\n"
        "  where: /parameters/self_attn.W_v.weight\n"
        "  help:  give it as many rows as the hidden states are wide");
}

TEST_CASE("what does not fit a cross-attention is called memory") {
  RandomRequests random(7);
  TransformerRequest request = sound();
  request.memory = random.normal({3, 5, 4});
  CHECK(refusal(request) ==
        "memory [3,5,4] has 3 samples, but query [2,3,4] has 2\n"
        "  where: /memory\n"
        "  help:  give both the same batch axis, or one of them a batch axis of 1");
  request.memory = random.normal({5, 4});
  CHECK(refusal(request) ==
        "query [2,3,4] and memory [5,4] have different numbers of axes\n"
        "  where: /memory\n"
        "  help:  give both the same number of axes");
  request.memory = random.normal({2, 5, 3});
  CHECK(refusal(request) ==
        "layers.0.multihead_attn.W_k.weight [4,4] does not fit: expected [out,3]\n"
        "  where: /parameters/layers.0.multihead_attn.W_k.weight\n"
        "  help:  its second axis is the width of what it is applied to, [2,5,3]");
  request = sound();
  request.memory_mask.allow = booleans({4}, {1, 1, 1, 1});
  CHECK(refusal(request) ==
        "allow [4] does not broadcast against the weights [2,2,3,5]\n"
        "  where: /memory_mask/allow\n"
        "  help:  each axis, counted from the last, must be 1 or that of the weights");
  request = sound();
  request.memory_mask.valid_lens = attn::Tensor({2}, std::vector<std::int64_t>{5, 6});
  CHECK(refusal(request) ==
        "the valid length 6 is not between 0 and 5\n"
        "  where: /memory_valid_lens/1\n"
        "  help:  give the number of leading keys that are valid");
}

}  // namespace
