#include "attention/attention_steps.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "attention/fast_and_reference.hpp"
#include "attention/random_request.hpp"
#include "tensor/half_number.hpp"
#include "tensor/operations.hpp"

namespace {

using namespace attn;
using namespace attn::testing;

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

// Masks, positions and norms that leave no two rows alike.
AttentionRequest with_options(RandomRequests& random, AttentionRequest request, std::size_t way) {
  const Geometry geometry = check_geometry(request);
  const Shape cells{geometry.queries, geometry.keys};
  const bool dot_products = std::holds_alternative<DotProduct>(request.score) ||
                            std::holds_alternative<ScaledDotProduct>(request.score);
  Mask& mask = request.mask;
  switch (way) {
    case 1:
      mask.causal = true;
      mask.align = Alignment::lower_right;
      break;
    case 2:
      mask.allow = random.flags({geometry.batch, 1, geometry.queries, geometry.keys}, 0.6);
      mask.fill = -1e4;
      break;
    case 3:
      mask.bias = random.normal(cells);
      mask.window = Window{2, 1};
      break;
    case 4:
      if (dot_products) mask.alibi = Alibi{};
      request.softcap = 5;
      break;
    case 5:
      mask.where.text = "(i + j + h) % 3 != 1";
      if (dot_products) request.sinks = random.normal({geometry.heads});
      break;
    default:
      break;
  }
  return request;
}

// Whether the row of a tensor [B,H,Lq,n] is finite.
bool is_row_finite(const Tensor& tensor, const Geometry& geometry, RowPlace at) {
  const std::size_t width = tensor.shape().back();
  const std::size_t row = (at.batch * geometry.heads + at.head) * geometry.queries + at.query;
  return not_finite(part_of(tensor, row * width, {width})).count == 0;
}

std::optional<NotFiniteStep> step_of(const AttentionRequest& request, RowPlace place = {}) {
  return first_not_finite(request, place);
}

// The step in a word, with the tensor if it is given: "key 2", "product".
std::string word_for(const AttentionRequest& request) {
  const auto found = step_of(request);
  if (!found) return "none";
  if (found->step == RowStep::given)
    return std::string(found->tensor) + " " + std::to_string(found->key);
  constexpr std::array words{"given", "preparation", "product",    "scale",  "own score", "softcap",
                             "bias",  "softmax",     "own weight", "output", "gate"};
  return words[static_cast<std::size_t>(found->step)];
}

// One query and two keys in float16.
AttentionRequest in_float16(std::vector<double> query, std::vector<double> key) {
  AttentionRequest request;
  request.dtype = DType::float16;
  DotProduct score;
  score.query = doubles({1, 2}, std::move(query));
  score.key = doubles({2, 2}, std::move(key));
  score.value = doubles({2, 1}, {1, 2});
  request.score = score;
  return request;
}

/// Options of the request number `n`, each in some of them.
void vary(AttentionRequest& request, std::size_t n, RandomRequests& random) {
  const Shape& query = testing::sequences(request).query.shape();
  const std::size_t keys = testing::sequences(request).key.shape()[2];
  const bool product = kind_of(request.score) == Kind::dot_product ||
                       kind_of(request.score) == Kind::scaled_dot_product;
  if (n % 2 == 1) request.softcap = 1.5;
  if (n % 3 == 1) request.mask.causal = true;
  if (n % 4 == 2) request.mask.window = Window{1, 2};
  if (n % 5 == 3) request.mask.bias = random.normal({1, query[1], query[2], keys});
  if (n % 5 == 4 && product) request.mask.alibi = Alibi{};
  if (n % 3 == 2 && product) request.sinks = random.normal({query[1]});
  if (n % 7 == 6) request.scale = 0.3;
  if (n % 2 == 0) request.dtype = DType::float32;
}

}  // namespace

TEST_CASE(
    "a row whose weights or output are not finite has a first such step, and no other has one") {
  RandomRequests random(20251129);
  std::size_t finite = 0, faulty = 0;
  for (const KindInfo& kind : attended_kinds()) {
    for (std::size_t way = 0; way < 6; ++way) {
      for (const float given : {NAN, INFINITY}) {
        for (const DType dtype : {DType::float64, DType::float32, DType::float16}) {
          AttentionRequest request = with_options(random, random.request(kind.kind), way);
          // Expressions and parameters are not for 16-bit types.
          const bool expressions = way == 5;
          if (is_half(dtype) && (expressions || !kind.parameters.empty())) continue;
          request.dtype = dtype;
          Tensor& value = value_in(request);
          if (Sequences* const of = sequences_of(request.score);
              of != nullptr && random.number(0, 1))
            of->key = with_number(of->key, random.number(0, of->key.size() - 1), given);
          else
            value = with_number(value, random.number(0, value.size() - 1), given);
          CAPTURE(std::string(kind.name));
          CAPTURE(way);
          CAPTURE(name(dtype));
          const Geometry geometry = check_geometry(request);
          const AttentionResult result = attend(request);
          for (std::size_t row = 0; row < geometry.batch * geometry.heads * geometry.queries;
               ++row) {
            const RowPlace at{row / geometry.queries / geometry.heads,
                              row / geometry.queries % geometry.heads, row % geometry.queries};
            const bool whole = is_row_finite(result.weights, geometry, at) &&
                               is_row_finite(result.output, geometry, at);
            ++(whole ? finite : faulty);
            // tanh makes infinities finite again.
            if (whole && (request.softcap || kind.kind == Kind::additive)) continue;
            CHECK(step_of(request, at).has_value() == !whole);
          }
        }
      }
    }
  }
  CHECK(finite > 300);
  CHECK(faulty > 300);
}

TEST_CASE("the first step is found from what is given to the gate") {
  AttentionRequest request = in_float16({1, 1}, {1, 0, 0, 1});
  CHECK(word_for(request) == "none");
  auto& score = std::get<DotProduct>(request.score);

  SUBCASE("tensors that are given") {
    score.query = doubles({1, 2}, {1, no_number});
    CHECK(word_for(request) == "query 0");
    score.query = doubles({1, 2}, {1, 1e5});  // beyond float16
    CHECK(word_for(request) == "query 0");
    score.query = doubles({1, 2}, {1, 1});
    score.key = doubles({2, 2}, {1, 0, no_number, 1});
    CHECK(word_for(request) == "key 1");
    request.mask.valid_lens = Tensor({1}, std::vector<std::int64_t>{1});
    CHECK(word_for(request) == "none");
    request.mask = {};
    score.key = doubles({2, 2}, {1, 0, 0, 1});
    score.value = doubles({2, 1}, {1, infinite});
    CHECK(word_for(request) == "value 1");
    score.value = doubles({2, 1}, {1, 2});
    request.mask.bias = doubles({1, 2}, {no_number, 0});
    CHECK(word_for(request) == "bias 0");
    request.mask.bias = doubles({1, 2}, {-infinite, 0});
    CHECK(word_for(request) == "none");
    request.mask = {};
    request.dtype = DType::float64;
    General& general = request.score.emplace<General>(General{Sequences(score)});
    general.W = doubles({2, 2}, {1, 0, 0, no_number});
    CHECK(word_for(request) == "W 0");
    request.score = GivenScores{doubles({1, 2}, {no_number, 0}), doubles({2, 1}, {1, 2})};
    CHECK(word_for(request) == "scores 0");
    request.score = GivenScores{doubles({1, 2}, {-infinite, 0}), doubles({2, 1}, {no_number, 2})};
    CHECK(word_for(request) == "none");
  }
  SUBCASE("norms") {
    request.key_norm = Norm{.weight = doubles({2}, {1e6, 1})};
    CHECK(word_for(request) == "preparation");
  }
  SUBCASE("products and scale") {
    score.query = doubles({1, 2}, {300, 0});
    score.key = doubles({2, 2}, {300, 0, 0, 1});
    CHECK(word_for(request) == "product");
    score.key = doubles({2, 2}, {10, 0, 0, 1});
    CHECK(word_for(request) == "none");
    request.scale = 100;
    CHECK(word_for(request) == "scale");
    request.dtype = DType::float32;
    CHECK(word_for(request) == "none");
    request.dtype = DType::float64;
    request.scale = 1e306;
    CHECK(word_for(request) == "scale");
  }
  SUBCASE("expressions and the output") {
    request.dtype = DType::float64;
    request.score_expression.text = "s * 1e300 * 1e300";
    CHECK(word_for(request) == "own score");
    request.score_expression = {};
    request.weight_expression.text = "p * 1e300 * 1e300";
    CHECK(word_for(request) == "own weight");
    request.weight_expression.text = "p * 1e300";
    score.value = doubles({2, 1}, {1e10, 2});
    CHECK(word_for(request) == "output");
    request.weight_expression = {};
    request.gate = doubles({1, 1}, {no_number});
    CHECK(word_for(request) == "gate");
  }
}

TEST_CASE("steps of scores alone are those that come with an attention") {
  RandomRequests random(51);
  for (const KindInfo& kind : testing::attended_kinds()) {
    if (kind.family == Family::given_scores) continue;
    for (std::size_t n = 0; n < 30; ++n) {
      AttentionRequest request = random.request(kind.kind);
      vary(request, n, random);
      CAPTURE(n);
      const AttentionResult whole = attend(request);
      const ScoreStages stages = score_stages(request);
      const double tolerance = request.dtype == DType::float32 ? 1e-5 : 1e-12;
      CHECK(difference(stages.scores, whole.scores) <= tolerance);
      CHECK(difference(stages.capped, whole.capped) <= tolerance);
      CHECK(difference(stages.masked, whole.masked) <= tolerance);
      CHECK(difference(stages.lse, whole.lse) <= tolerance);
      CHECK(stages.scores.dtype() == whole.scores.dtype());
      CHECK(difference(score_stages(request, whole.weights).lse, whole.lse) <= tolerance);
    }
  }
}
