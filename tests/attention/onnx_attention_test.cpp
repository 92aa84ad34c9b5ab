#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"

#include "attention/positions.hpp"
#include "attention/random_request.hpp"
#include "attention/recorded_case.hpp"

namespace {

using namespace attn::testing;

void check_attention(const std::string& file) {
  check_recorded(recorded_cases(file), [](const RecordedCase& one, attn::DType dtype) {
    attn::AttentionRequest request = one.attention(attn::Kind::scaled_dot_product);
    request.dtype = dtype;
    const attn::AttentionResult result = attn::attend(request);
    return Results{{"scores", result.scores},
                   {"capped", result.capped},
                   {"masked", result.masked},
                   {"weights", result.weights},
                   {"output", result.output}};
  });
}

TEST_CASE("scaled dot products follow the Attention operator of ONNX, stage by stage") {
  check_attention("onnx_attention.txt");
}

TEST_CASE("a past with an axis of heads goes before keys without one, as in ONNX's Attention") {
  check_attention("onnx_attention_3d_past.txt");
}

TEST_CASE("queries are turned as by the RotaryEmbedding operator of ONNX") {
  check_recorded(
      recorded_cases("onnx_rotary_embedding.txt"), [](const RecordedCase& one, attn::DType dtype) {
        attn::AttentionRequest request = one.attention(attn::Kind::scaled_dot_product);
        request.rotary.emplace();
        request.rotary->cos = one.tensor("cos");
        request.rotary->sin = one.tensor("sin");
        request.rotary->positions = one.tensor("positions").converted(attn::DType::int64);
        request.rotary->interleaved = one.options.contains("interleaved");
        const attn::Geometry geometry = attn::check_geometry(request);
        const attn::HeadPreparation preparation(request, geometry,
                                                attn::QueryPlaces(request.mask, geometry));
        const attn::Sequences& sequences = *attn::sequences_of(request.score);
        return Results{{"output", preparation.prepared(sequences, dtype).query}};
      });
}

using attn::AttentionRequest;
using attn::AttentionResult;
using attn::DType;
using attn::Shape;
using attn::Tensor;
using attn::testing::numbers;
using attn::testing::RecordedCase;
using attn::testing::relative_difference;
using attn::testing::sequences;

constexpr double infinity = std::numeric_limits<double>::infinity();

Shape sizes(const RecordedCase& one, const std::string& name) {
  Shape shape;
  if (!one.options.contains(name)) return shape;
  for (const std::string& size : one.options.at(name)) shape.push_back(std::stoul(size));
  return shape;
}

std::set<std::size_t> places(const RecordedCase& one, const std::string& name) {
  const Shape all = sizes(one, name);
  return {all.begin(), all.end()};
}

// Multiples of 1/16 from −1 to 1, the same in every type that computes.
class Numbers {
 public:
  Tensor operator()(const Shape& shape) {
    std::vector<double> drawn(attn::element_count(shape));
    for (double& number : drawn) {
      state_ = state_ * 6364136223846793005U + 1442695040888963407U;
      number = static_cast<double>(state_ >> 59U) / 16 - 1;
    }
    return {shape, std::move(drawn)};
  }

 private:
  std::uint64_t state_ = 87;
};

// A row of the table as a request: each of its options is one of a document, but for `hidden`, the
// elements of the bias that are −∞, and `poisoned`, keys of huge values that are not seen.
AttentionRequest request_of(const RecordedCase& one) {
  Numbers draw;
  AttentionRequest request;
  request.stages = true;
  request.scale = one.number("scale");
  request.softcap = one.number("softcap");
  attn::Sequences& compared = sequences(request);
  const auto give = [&](const char* name, Tensor& tensor) {
    if (one.options.contains(name)) tensor = draw(sizes(one, name));
  };
  give("query", compared.query);
  give("key", compared.key);
  give("value", compared.value);
  give("past_key", compared.past_key);
  give("past_value", compared.past_value);
  compared.heads = one.count("heads");
  compared.kv_heads = one.count("kv_heads");
  std::vector<double> value = numbers(compared.value);
  for (const std::size_t key : places(one, "poisoned")) {
    const std::size_t width = compared.value.shape().back();
    std::fill_n(value.begin() + static_cast<std::ptrdiff_t>(key * width), width, 1000.0);
  }
  compared.value = Tensor(compared.value.shape(), std::move(value));

  request.mask = one.mask("", true);
  const Shape lens = sizes(one, "valid_lens");
  if (!lens.empty()) {
    request.mask.valid_lens =
        Tensor({lens.size()}, std::vector<std::int64_t>(lens.begin(), lens.end()));
    // Queries are the last ones before the end of what is valid.
    request.mask.align = attn::Alignment::lower_right;
  }
  if (one.options.contains("allow")) {
    std::vector<std::uint8_t> flags;
    for (const std::string& flag : one.options.at("allowed")) flags.push_back(flag == "1" ? 1 : 0);
    request.mask.allow = Tensor(sizes(one, "allow"), std::move(flags));
  }
  if (one.options.contains("bias")) {
    Shape shape = sizes(one, "bias");
    std::vector<double> bias = numbers(draw(shape));
    for (const std::size_t at : places(one, "hidden")) bias[at] = -infinity;
    // The operator fills up what is shorter than the keys; a document gives it whole.
    const std::size_t given = shape.back(),
                      keys = compared.key.shape()[compared.key.rank() - 2] +
                             (compared.past_key ? compared.past_key.shape()[2] : 0);
    std::vector<double> whole;
    for (std::size_t i = 0; i < bias.size(); ++i) {
      whole.push_back(bias[i]);
      if ((i + 1) % given == 0) whole.insert(whole.end(), keys - given, -infinity);
    }
    shape.back() = keys;
    request.mask.bias = Tensor(std::move(shape), std::move(whole));
  }
  return request;
}

// An element of a tensor [B,H,L,D], or of [B,L,H·D] with its heads side by side.
double element(const Tensor& tensor, std::size_t heads, std::size_t b, std::size_t h, std::size_t i,
               std::size_t c) {
  const auto all = tensor.values<double>();
  const Shape& shape = tensor.shape();
  if (shape.size() == 4) return all[((b * shape[1] + h) * shape[2] + i) * shape[3] + c];
  const std::size_t width = shape[2] / heads;
  return all[(b * shape[1] + i) * shape[2] + h * width + c];
}

// A mask's element, its axes counted from the last.
double broadcast(const Tensor& mask, const std::vector<std::size_t>& index) {
  const Shape& shape = mask.shape();
  std::size_t at = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::size_t size = shape[axis];
    at = at * size + (size == 1 ? 0 : index[index.size() - shape.size() + axis]);
  }
  return numbers(mask)[at];
}

// The text of the operator (docs/Operators.md of onnx/onnx, Attention), number by number.
struct Twin {
  std::vector<double> scores, capped, masked, weights, output;
};

Twin twin_of(const RecordedCase& one, const AttentionRequest& request) {
  const attn::Sequences& given = sequences(request);
  const bool joined = given.query.rank() == 3;
  const std::size_t batch = given.query.shape()[0];
  const std::size_t heads = joined ? *given.heads : given.query.shape()[1];
  const std::size_t groups = joined ? *given.kv_heads : given.key.shape()[1];
  const std::size_t queries = given.query.shape()[joined ? 1 : 2];
  const std::size_t past = given.past_key ? given.past_key.shape()[2] : 0;
  const std::size_t keys = past + given.key.shape()[joined ? 1 : 2];
  const std::size_t width = given.query.shape().back() / (joined ? heads : 1);
  const std::size_t value_width = given.value.shape().back() / (joined ? groups : 1);
  const double scale = request.scale.value_or(1 / std::sqrt(static_cast<double>(width)));
  const auto at = [&](const Tensor& old, const Tensor& now, std::size_t b, std::size_t g,
                      std::size_t j, std::size_t c) {
    return j < past ? element(old, groups, b, g, j, c) : element(now, groups, b, g, j - past, c);
  };
  Twin twin;
  twin.output.resize(batch * queries * heads * value_width);
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t g = h / (heads / groups);
      for (std::size_t i = 0; i < queries; ++i) {
        std::ptrdiff_t place = static_cast<std::ptrdiff_t>(i + past);
        std::size_t valid = keys;
        if (const Shape lens = sizes(one, "valid_lens"); !lens.empty()) {
          valid = lens[b];
          place = static_cast<std::ptrdiff_t>(valid + i) - static_cast<std::ptrdiff_t>(queries);
        }
        std::vector<double> powers;
        double sum = 0;
        for (std::size_t j = 0; j < keys; ++j) {
          double score = 0;
          for (std::size_t c = 0; c < width; ++c) {
            score +=
                element(given.query, heads, b, h, i, c) * at(given.past_key, given.key, b, g, j, c);
          }
          score *= scale;
          twin.scores.push_back(score);
          if (request.softcap) score = *request.softcap * std::tanh(score / *request.softcap);
          twin.capped.push_back(score);
          const auto key = static_cast<std::ptrdiff_t>(j);
          bool seen = j < valid && (!request.mask.causal || key <= place);
          if (const auto& window = request.mask.window) {
            if (window->left) {
              seen = seen && key >= place - static_cast<std::ptrdiff_t>(*window->left);
            }
            if (window->right) {
              seen = seen && key <= place + static_cast<std::ptrdiff_t>(*window->right);
            }
          }
          if (request.mask.allow) {
            seen = seen && broadcast(request.mask.allow, {b, h, i, j}) != 0;
          }
          if (request.mask.bias) score += broadcast(request.mask.bias, {b, h, i, j});
          if (!seen) score = -infinity;
          twin.masked.push_back(score);
          powers.push_back(std::exp(score));
          sum += powers.back();
        }
        for (std::size_t j = 0; j < keys; ++j) {
          const double weight = sum == 0 ? 0 : powers[j] / sum;
          twin.weights.push_back(weight);
          for (std::size_t c = 0; c < value_width && weight != 0; ++c) {
            const std::size_t to = joined ? ((b * queries + i) * heads + h) * value_width + c
                                          : ((b * heads + h) * queries + i) * value_width + c;
            twin.output[to] += weight * at(given.past_value, given.value, b, g, j, c);
          }
        }
      }
    }
  }
  return twin;
}

void check_as_twin(const RecordedCase& one, const AttentionResult& result, const Twin& twin,
                   double tolerance) {
  const auto check = [&](const Tensor& found, const std::vector<double>& expected) {
    CHECK(relative_difference(found, Tensor(found.shape(), std::vector<double>(expected))) <=
          tolerance);
  };
  check(result.output, twin.output);
  const std::string shown = one.word("result");
  if (shown == "scores") check(result.scores, twin.scores);
  if (shown == "capped") check(result.capped, twin.capped);
  if (shown == "masked") check(result.masked, twin.masked);
  if (shown == "weights") check(result.weights, twin.weights);
}

TEST_CASE("all 87 cases of ONNX's Attention operator hold as requests") {
  const std::vector<RecordedCase> cases = attn::testing::recorded_cases("onnx_attention_cases.txt");
  REQUIRE(cases.size() == 87);
  for (const RecordedCase& one : cases) {
    CAPTURE(one.name);
    AttentionRequest request = request_of(one);
    const Twin twin = twin_of(one, request);
    request.dtype = DType::float64;
    check_as_twin(one, attn::attend(request), twin, 1e-12);
    request.dtype = DType::float32;
    check_as_twin(one, attn::attend(request), twin, 2e-5);
    if (!one.options.contains("float16")) continue;
    // Scores below 4 are rounded twice, by 2⁻¹⁰ at most together, so that weights change by
    // 2 · 2⁻¹⁰ of themselves; weights and outputs, both of numbers up to 1, by 2⁻¹² more each.
    request.dtype = DType::float16;
    check_as_twin(one, attn::attend(request), twin, 2 * 0x1p-10 + 0x1p-11);
  }
}

}  // namespace
