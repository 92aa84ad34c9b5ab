#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attention/paths.hpp"
#include "attention/random_mask.hpp"
#include "fuzz/fuzz_input.hpp"
#include "kernels/cpu_target.hpp"
#include "support/overloaded.hpp"

namespace {

using namespace attn;

/// Choices made by the fuzzer's bytes; zeros once they are used up.
class Choices {
 public:
  explicit Choices(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t upto(std::size_t last) {
    std::size_t number = byte();
    if (last > 255) number = number << 8 | byte();
    return number % (last + 1);
  }
  bool flag() { return (byte() & 1) != 0; }

  /// Mostly small numbers, all exact in single precision.
  float number() { return static_cast<float>(static_cast<int>(byte()) - 128) / 64; }

 private:
  std::size_t byte() {
    if (at_ >= bytes_.size()) {
      // Numbers go on without a pattern that a product could hide.
      state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
      return static_cast<std::size_t>(state_ >> 56);
    }
    return static_cast<std::size_t>(bytes_[at_++]);
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::uint64_t state_ = 1;
};

Tensor numbers(Shape shape, Choices& choices) {
  std::vector<float> elements(element_count(shape));
  for (float& element : elements) element = choices.number();
  return {std::move(shape), std::move(elements)};
}

// All numbers more by one, in single precision.
Tensor shifted(const Tensor& tensor, float by) {
  const auto from = tensor.values<float>();
  std::vector<float> elements(from.begin(), from.end());
  for (float& element : elements) element += by;
  return {tensor.shape(), std::move(elements)};
}

// A relative bias; with a bias perhaps so large that both cancel each other.
void choose_relative_bias(AttentionRequest& request, std::size_t heads, Choices& choices) {
  if (!choices.flag()) return;
  RelativeBias& relative = request.relative_bias.emplace();
  relative.buckets = 8;
  relative.max_distance = 16;
  relative.bidirectional = choices.flag();
  relative.table = numbers({relative.buckets, heads}, choices);
  if (!request.mask.bias || !choices.flag()) return;
  const auto size = static_cast<float>(std::pow(10.0, static_cast<double>(choices.upto(5))));
  relative.table = shifted(relative.table, size);
  request.mask.bias = shifted(request.mask.bias, -size);
}

// Tensors [..,D] with one more column of that number.
Tensor with_column(const Tensor& tensor, float number) {
  const std::size_t width = tensor.shape().back();
  const auto from = tensor.values<float>();
  std::vector<float> elements;
  for (std::size_t i = 0; i < from.size(); ++i) {
    elements.push_back(from[i]);
    if ((i + 1) % width == 0) elements.push_back(number);
  }
  Shape shape = tensor.shape();
  ++shape.back();
  return {std::move(shape), std::move(elements)};
}

// A product that is the same for all keys and that the bias takes away again.
void choose_large_product(AttentionRequest& request, Choices& choices) {
  if (!request.mask.bias || !choices.flag()) return;
  const auto size = static_cast<float>(std::pow(10.0, static_cast<double>(choices.upto(3))));
  Sequences& compared = *sequences_of(request.score);
  compared.query = with_column(compared.query, 1);
  compared.key = with_column(compared.key, size);
  if (compared.past_key) compared.past_key = with_column(compared.past_key, size);
  const double scale = request.scale.value_or(0.25);
  request.scale = scale;
  request.mask.bias = shifted(request.mask.bias, static_cast<float>(-scale * double{size}));
}

// Rows of W that are nearly alike, and keys whose products with them cancel.
void choose_large_projection(Sequences& compared, Tensor& W, Choices& choices) {
  if (!choices.flag()) return;
  const auto size = static_cast<float>(std::pow(10.0, static_cast<double>(choices.upto(2))));
  const std::size_t width = W.shape()[1];
  if (width < 2) return;
  const auto weights = W.values<float>();
  std::vector<float> elements(weights.begin(), weights.end());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::size_t column = i % width;
    elements[i] = column == 0 ? size : column == 1 ? -size : elements[i] / 16;
  }
  W = {W.shape(), std::move(elements)};
  const auto keys = compared.key.values<float>();
  elements.assign(keys.begin(), keys.end());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (i % width < 2) elements[i] = 1 + elements[i] / 1024;
  }
  compared.key = {compared.key.shape(), std::move(elements)};
}

// Expressions that make errors of scores and weights no larger.
void choose_expressions(AttentionRequest& request, Choices& choices) {
  const auto one_of = [&](const std::vector<std::string>& texts) {
    return choices.flag() ? texts[choices.upto(texts.size() - 1)] : std::string();
  };
  request.score_expression.text = one_of({"s - 0.1 * abs(i - j)", "j % 5 == 3 && i != j ? -inf : s",
                                          "0.5 * s + 0.25 * h", "2 * tanh(s / 2)", "0 * i"});
  request.weight_expression.text = one_of({"0.5 * p + 0.01", "p * (1 + 0.1 * (j % 3))"});
}

// Parts of a mask, few or many. No kernel takes a finite fill, and only products take ALiBi.
void choose_mask(AttentionRequest& request, Choices& choices) {
  const Geometry geometry = check_geometry(request);
  const auto choose = [&](std::size_t below) { return choices.upto(below - 1); };
  testing::RandomMask masks(choose, geometry);
  const Kind kind = kind_of(request.score);
  const bool products = kind == Kind::dot_product || kind == Kind::scaled_dot_product;
  request.mask = masks.any(choices.upto(7), {"fill", products ? "fill" : "alibi"});
}

AttentionRequest choose(Choices& choices) {
  AttentionRequest request;
  request.threads = 1;
  const std::size_t batch = 1 + choices.upto(1), kv_heads = 1 + choices.upto(1);
  const std::size_t heads = kv_heads * (1 + choices.upto(2));
  const std::size_t queries = 1 + choices.upto(choices.flag() ? 300 : 14);
  // Wide values make blocks of another size; few keys keep the definition's time short.
  const bool wide = choices.upto(15) == 15;
  const std::size_t keys = 1 + choices.upto(choices.flag() && !wide ? 450 : 40);
  const std::size_t width = 1 + choices.upto(35), value_width = 1 + choices.upto(wide ? 900 : 35);
  // A kind that projects is one of scaled dot products.
  const Kind kind = kinds()[choices.upto(kinds().size() - 1)].kind;
  request.score = score_of(kind);
  const bool continued = choices.flag() && sequences_of(request.score) != nullptr;
  const std::size_t past = continued ? choices.upto(20) : 0;
  if (choices.flag()) request.scale = choices.number();
  if (choices.flag()) request.softcap = 1 + static_cast<double>(choices.upto(50));
  const Shape value{batch, kv_heads, keys, value_width};
  std::visit(
      Overloaded{
          [&](GivenScores& given) {
            given = {numbers({batch, heads, queries, keys}, choices), numbers(value, choices)};
          },
          [&](Sequences& compared) {
            compared.query = numbers({batch, heads, queries, width}, choices);
            compared.key = numbers({batch, kv_heads, keys, width}, choices);
            compared.value = numbers(value, choices);
            if (past == 0) return;
            compared.past_key = numbers({batch, kv_heads, past, width}, choices);
            compared.past_value = numbers({batch, kv_heads, past, value_width}, choices);
          }},
      request.score);
  const std::vector<Tensor*> parameters = parameters_of(request.score);
  const std::size_t hidden = parameters.empty() ? 1 : 1 + choices.upto(19);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Shape shape = shape_of(info(kind_of(request.score)).parameters[i], width, width, hidden);
    *parameters[i] = numbers(shape, choices);
  }
  choose_mask(request, choices);
  const Kind chosen = kind_of(request.score);
  if (chosen == Kind::dot_product || chosen == Kind::scaled_dot_product) {
    choose_relative_bias(request, heads, choices);
    choose_large_product(request, choices);
  }
  if (auto* const general = std::get_if<General>(&request.score)) {
    choose_large_projection(*general, general->W, choices);
  }
  if (auto* const additive = std::get_if<Additive>(&request.score)) {
    choose_large_projection(*additive, additive->W_k, choices);
  }
  if (choices.flag()) {
    const auto reduction = choices.flag() ? Pooling::Reduction::max : Pooling::Reduction::mean;
    request.pool = Pooling{1 + choices.upto(60), reduction};
  }
  if (choices.flag()) choose_expressions(request, choices);
  return request;
}

/// The largest absolute score: single precision loses as many digits of the weights as it has
/// before the point.
double largest_score(const Tensor& masked) {
  double largest = 1;
  const Tensor scores = masked.converted(DType::float64);
  for (const double score : scores.values<double>()) {
    if (std::isfinite(score)) largest = std::max(largest, std::abs(score));
  }
  return largest;
}

// Each term of a score is rounded to a relative 2^-24 and so is each of up to 36·36 sums, whose
// errors mostly cancel; a weight's relative error is the score's absolute one. The factor is that
// of the unit tests, 2e-5 for scores up to 20, spread over the size of the scores. Biases and terms
// by distance are added in double precision, and may cancel each other; products and projections
// that are larger than the scores add at most 1e-4 (docs/inside/numerics.md).
//
// An additive score is within (44 + h / 2) 2^-24 Σ|w_v| of the definition's for the same
// projections (kernels/additive_scores.hpp), and these, sums of D products of numbers up to 2, are
// within (D + 1) D 4 2^-24; tanh grows no faster than its argument. A weight is off by twice the
// error of a score.
double tolerance_of(const AttentionRequest& request, const Tensor& masked) {
  constexpr double softmax = 2e-5, cancelling = 1e-4;
  const double of_products = softmax * std::max(1.0, largest_score(masked) / 20) + cancelling;
  const auto of_units = [&](const Additive& additive) {
    double weights = 0;
    for (const float w : additive.w_v.values<float>()) weights += std::abs(w);
    const auto units = static_cast<double>(additive.w_v.size());
    const auto width = static_cast<double>(additive.W_q.shape()[1]);
    const double scale = std::abs(request.scale.value_or(1));
    const double score =
        (44 + units / 2 + 2 * (width + 1) * width * 4 + 4) * 0x1p-24 * weights * scale;
    return std::expm1(2 * score) + softmax + cancelling;
  };
  return std::visit(Overloaded{[&](const GivenScores&) { return of_products; },
                               [&](const DotProduct&) { return of_products; },
                               [&](const ScaledDotProduct&) { return of_products; },
                               [&](const General&) { return of_products; }, of_units},
                    request.score);
}

void require_near(const Tensor& result, const Tensor& expected, double tolerance, double unit) {
  fuzz::require(result.shape() == expected.shape());
  const Tensor a = result.converted(DType::float64), b = expected.converted(DType::float64);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a.values<double>()[i], y = b.values<double>()[i];
    fuzz::require(std::abs(x - y) <= tolerance * std::max(std::abs(y), unit));
  }
}

}  // namespace

// Every path of the kernels, on every instruction set of this machine, against the definition in
// double precision.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data, size);
  Choices choices(input.bytes());
  AttentionRequest request = choose(choices);
  const Geometry geometry = check_geometry(request);
  const Visibility visibility(request.mask, geometry, {});
  AttentionRequest definition = request;
  definition.dtype = DType::float64;
  definition.stages = true;
  const AttentionResult expected = reference_attention(definition, geometry, visibility);
  const double tolerance = tolerance_of(request, expected.scores);
  const auto by_kernels = size % 2 == 0 ? fast_attention : exact_fast_attention;
  const std::optional<Pooling> pool = std::exchange(request.pool, {});
  for (const std::string_view target : kernels::cpu_targets()) {
    kernels::use_cpu_target(target);
    for (const bool weights : {true, false}) {
      AttentionRequest asked = request;
      asked.weights = weights;
      if (!weights) asked.pool = pool;
      const auto result = by_kernels(asked, geometry, visibility, {});
      if (!result) continue;  // left to the reference
      require_near(result->output, expected.output, tolerance, 2);
      if (weights) require_near(result->weights, expected.weights, tolerance, 1e-30);
      // A cell is a mean or the largest of weights, each at most 1.
      if (asked.pool) require_near(result->pooled, expected.pooled, tolerance, 1);
      fuzz::require(result->empty_rows == expected.empty_rows);
    }
  }
  kernels::use_cpu_target("");
  return 0;
}
