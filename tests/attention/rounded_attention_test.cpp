#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attention/fast_and_reference.hpp"
#include "attention/random_request.hpp"
#include "kernels/every_target.hpp"

namespace {

using attn::AttentionRequest;
using attn::AttentionResult;
using attn::DType;
using attn::Tensor;
using attn::testing::fast;
using attn::testing::numbers;
using attn::testing::on_every_target;
using attn::testing::RandomRequests;
using attn::testing::reference;
using attn::testing::same_bits;
using attn::testing::sequences;
using attn::testing::with_number;

// Multiples of 1/8 whose products add up exactly, and stay so with a scale that is a power of two.
Tensor eighths(RandomRequests& random, attn::Shape shape) {
  std::vector<double> all = numbers(random.normal(shape));
  for (double& x : all) x = std::clamp(std::nearbyint(4 * x) / 8, -2.0, 2.0);
  return Tensor(std::move(shape), std::move(all)).converted(DType::float32);
}

struct Sizes {
  std::size_t queries, keys, width, value_width;
};

AttentionRequest attention(RandomRequests& random, const Sizes& sizes, DType dtype) {
  AttentionRequest request;
  request.dtype = dtype;
  request.threads = 2;
  request.scale = 0.25;
  attn::Sequences& compared = sequences(request);
  compared.query = eighths(random, {2, 4, sizes.queries, sizes.width}).converted(dtype);
  compared.key = eighths(random, {2, 2, sizes.keys, sizes.width}).converted(dtype);
  compared.value = eighths(random, {2, 2, sizes.keys, sizes.value_width}).converted(dtype);
  return request;
}

// Between two numbers of the type that are as large as x.
double unit(double x, DType dtype) {
  if (dtype == DType::float32) return 2e-5 * std::abs(x);
  const int digits = dtype == DType::bfloat16 ? 8 : 11,
            least = dtype == DType::bfloat16 ? -126 : -14;
  return std::exp2(std::max(std::ilogb(x), least) - digits + 1);
}

// Scores are the same to the bit. What is left is the exponential of the kernels, off by less than
// 2e-5: weights, or with fused rounding their exponentials, are rounded to the neighbour where the
// exact one is that near to the middle of two, one in hundreds; and the outputs that come of them,
// or of sums in another order.
void check_as_reference(AttentionRequest request) {
  request.stages = false;
  request.weights = true;
  const AttentionResult expected = reference(request);
  const std::optional<AttentionResult> result = fast(request);
  REQUIRE(result);
  CHECK(result->weights.dtype() == expected.weights.dtype());
  CHECK(result->output.dtype() == request.dtype);
  CHECK(result->empty_rows == expected.empty_rows);
  if (request.mask.present()) CHECK(same_bits(result->allowed, expected.allowed));
  const std::vector<double> found = numbers(result->weights), wanted = numbers(expected.weights);
  REQUIRE(found.size() == wanted.size());
  const DType dtype = request.fused_rounding ? request.dtype : expected.weights.dtype();
  std::size_t different = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == wanted[i]) continue;
    if (request.fused_rounding && std::abs(found[i] - wanted[i]) <= unit(wanted[i], DType::float32))
      continue;
    ++different;
    // Weights below the normal floats are zeros in the kernels. A unit of an exponential is less
    // than two of its quotient, which may lie lower between two powers of two.
    const double most = (request.fused_rounding ? 2 : 1) * unit(wanted[i], dtype) + 0x1p-125;
    if (std::abs(found[i] - wanted[i]) > most) {
      FAIL_CHECK("weight " << i << ": " << found[i] << " instead of " << wanted[i]);
      break;
    }
  }
  if (dtype == request.dtype) CHECK(different * 100 <= found.size());
  // Values are up to 2, rows of weights add up to 1 and a little.
  const std::vector<double> output = numbers(result->output), out = numbers(expected.output);
  std::size_t moved = 0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    if (output[i] == out[i]) continue;
    ++moved;
    CHECK(std::abs(output[i] - out[i]) <=
          2.1 * unit(1, request.dtype) + unit(out[i], request.dtype));
  }
  CHECK(moved * 10 <= output.size());
  request.weights = false;
  const std::optional<AttentionResult> alone = fast(request);
  REQUIRE(alone);
  CHECK(!alone->weights);
  CHECK(same_bits(alone->output, result->output));
}

const std::vector<Sizes> all_sizes{{1, 5, 3, 2},    {2, 33, 64, 64},   {13, 32, 31, 17},
                                   {33, 65, 8, 40}, {97, 131, 40, 33}, {40, 1600, 16, 20}};

TEST_CASE("16-bit types are computed by kernels as the reference rounds them") {
  on_every_target([] {
    RandomRequests random(61);
    for (const DType dtype : {DType::bfloat16, DType::float16}) {
      CAPTURE(attn::name(dtype));
      for (const Sizes& sizes : all_sizes) {
        CAPTURE(sizes.keys);
        AttentionRequest request = attention(random, sizes, dtype);
        check_as_reference(request);
        request.softcap = 1.5;
        request.mask.causal = true;
        request.mask.align = attn::Alignment::lower_right;
        check_as_reference(request);
        request.softcap.reset();
        request.mask.window = attn::Window{3, 1};
        request.mask.valid_lens =
            Tensor({2}, std::vector<std::int64_t>{static_cast<std::int64_t>(sizes.keys), 2});
        check_as_reference(request);
        request.mask = {};
        request.mask.block = random.flags({2, 1, sizes.queries, sizes.keys}, 0.5);
        check_as_reference(request);
        request.fused_rounding = true;
        check_as_reference(request);
        request.softcap = 1.5;
        request.mask = {.causal = true, .align = attn::Alignment::lower_right};
        request.sinks = random.normal({4}).converted(DType::float32);
        check_as_reference(request);
      }
    }
  });
}

// The numbers are those of float32 steps in PyTorch: s = q @ k.T / 2, e = exp(s − max s),
// p = e.to(dtype), (p.float() @ v) / e.sum(-1). All scores are exact. A weight is off by half a
// unit of float32 in each of three steps.
TEST_CASE("fused rounding is that of the exponentials, the sum of which is not rounded") {
  struct Case {
    DType dtype;
    std::vector<double> weights, output;
  };
  const std::vector<Case> cases{
      {DType::bfloat16,
       {0.21925902366638184, 0.015068598091602325, 0.4472534656524658, 0.16597296297550201,
        0.15199628472328186, 0.11954096704721451, 0.09717073291540146, 0.30199822783470154,
        0.35792383551597595, 0.12373539060354233, 0.09158989042043686, 0.14819753170013428,
        0.15392190217971802, 0.2811300754547119, 0.32565292716026306},
       {-0.330078125, -0.85546875, -0.1806640625, -0.37890625, -0.091796875, 0.08447265625}},
      {DType::float16,
       {0.2196957916021347, 0.015068598091602325, 0.4472534656524658, 0.1658637672662735,
        0.1522146761417389, 0.11989050358533859, 0.09708334505558014, 0.3014739453792572,
        0.35792383551597595, 0.12373539060354233, 0.09182840585708618, 0.14795900881290436,
        0.15384238958358765, 0.2806530296802521, 0.32565292716026306},
       {-0.330810546875, -0.85546875, -0.1805419921875, -0.37939453125, -0.09197998046875,
        0.08123779296875}}};
  for (const Case& one : cases) {
    CAPTURE(attn::name(one.dtype));
    AttentionRequest request;
    request.dtype = one.dtype;
    request.fused_rounding = true;
    request.stages = true;
    attn::Sequences& compared = sequences(request);
    compared.query = Tensor({3, 4}, std::vector<double>{0.25, -1.25, 0.5, 0.375, -0.625, -0.625,
                                                        -0.125, -0.125, -1.5, 0.625, -1.375, 1.375})
                         .converted(one.dtype);
    compared.key =
        Tensor({5, 4}, std::vector<double>{1.75,  -0.375, -0.375, 1.125, 0.25, 2.5,    -1,
                                           -1.75, -0.5,   -1.375, 1,     1.25, -1.625, -0.5,
                                           0.625, 0.125,  0.25,   0.625, 0.75, 2})
            .converted(one.dtype);
    compared.value =
        Tensor({5, 2}, std::vector<double>{0.421875, -0.625, 1.265625, 4.234375, -0.765625,
                                           -1.40625, -0.1875, -0.75, -0.453125, -0.1875})
            .converted(one.dtype);
    const AttentionResult result = attn::attend(request);
    CHECK(numbers(result.output) == one.output);
    CHECK(result.output.dtype() == one.dtype);
    const std::vector<double> weights = numbers(result.weights);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      CHECK(std::abs(weights[i] - one.weights[i]) <= 1.5 * 0x1p-23 * one.weights[i]);
    }
    CHECK(result.weights.dtype() == DType::float32);
    CHECK(result.scores.dtype() == DType::float32);
    // A score that bfloat16 does not hold.
    CHECK(numbers(result.scores)[0] == 0.5703125);
    CHECK(numbers(result.scores)[1] == -2.109375);
  }
}

TEST_CASE(
    "with fused rounding scores may leave the range of float16, and weights of one's own are "
    "rounded before they multiply the values") {
  AttentionRequest request;
  request.dtype = DType::float16;
  request.scale = 1;
  request.fused_rounding = true;
  attn::Sequences& compared = sequences(request);
  compared.query = Tensor({1, 1}, std::vector<float>{300}).converted(DType::float16);
  compared.key = Tensor({2, 1}, std::vector<float>{300, 299}).converted(DType::float16);
  compared.value = Tensor({2, 1}, std::vector<float>{1, 2}).converted(DType::float16);
  CHECK(numbers(attn::attend(request).output) == std::vector<double>{1});
  request.fused_rounding = false;
  CHECK(std::isnan(numbers(attn::attend(request).output)[0]));
  request.fused_rounding = true;
  request.weight_expression.text = "0.1";
  CHECK(numbers(attn::attend(request).weights) ==
        std::vector<double>{0.0999755859375, 0.0999755859375});
}

TEST_CASE("16-bit types are computed as the reference rounds them for every part of a mask") {
  on_every_target([] {
    RandomRequests random(64);
    for (const DType dtype : {DType::bfloat16, DType::float16}) {
      CAPTURE(attn::name(dtype));
      // Slopes and biases are multiples of powers of two, so that scores stay exact.
      attn::testing::for_masks(
          random,
          [&] {
            return attention(random, {13, 65, 31, 17}, dtype);
          },
          check_as_reference);
    }
  });
}

TEST_CASE("biases and sinks leave the weights of 16-bit types in float32") {
  on_every_target([] {
    RandomRequests random(62);
    for (const DType dtype : {DType::bfloat16, DType::float16}) {
      CAPTURE(attn::name(dtype));
      for (const Sizes& sizes : {Sizes{2, 33, 64, 64}, Sizes{97, 131, 40, 33}}) {
        AttentionRequest request = attention(random, sizes, dtype);
        request.mask.alibi = attn::Alibi{{}, true};
        check_as_reference(request);
        request.relative_bias =
            attn::RelativeBias{random.normal({8, 4}).converted(DType::float32), 8, 20, true};
        request.sinks = random.normal({4}).converted(DType::float32);
        request.mask.causal = true;
        check_as_reference(request);
        request.mask.bias = random.normal({4, 1, sizes.keys}).converted(DType::float32);
        check_as_reference(request);
        request.fused_rounding = true;
        check_as_reference(request);
      }
    }
  });
}

// Sums of other orders change a score by a unit at most where they lie that near to the middle of
// two numbers, and so does the scale, which is rounded again: two units of 2⁻⁷ of the largest score
// together, e to which power is what a weight may change by.
TEST_CASE("scores that are rounded to the neighbour change weights by no more than their units") {
  on_every_target([] {
    RandomRequests random(63);
    AttentionRequest request = attention(random, {60, 90, 48, 20}, DType::bfloat16);
    request.scale.reset();
    for (Tensor* tensor : {&sequences(request).query, &sequences(request).key}) {
      *tensor = random.normal(tensor->shape()).converted(DType::bfloat16);
    }
    request.stages = true;
    const AttentionResult expected = reference(request);
    double largest = 0;
    for (const double score : numbers(expected.scores))
      largest = std::max(largest, std::abs(score));
    request.stages = false;
    const std::optional<AttentionResult> result = fast(request);
    REQUIRE(result);
    const std::vector<double> found = numbers(result->weights), wanted = numbers(expected.weights);
    const double most = std::expm1(2 * 2 * 0x1p-7 * largest);
    std::size_t different = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] != wanted[i]) ++different;
      CHECK(std::abs(found[i] - wanted[i]) <= most * wanted[i] + unit(wanted[i], DType::bfloat16));
    }
    CHECK(different * 20 <= found.size());
  });
}

TEST_CASE("the number of threads changes no bit of a 16-bit type") {
  RandomRequests random(64);
  AttentionRequest request = attention(random, {150, 200, 32, 32}, DType::bfloat16);
  request.threads = 1;
  const auto one = fast(request);
  request.threads = 5;
  const auto five = fast(request);
  REQUIRE((one && five));
  CHECK(same_bits(one->weights, five->weights));
  CHECK(same_bits(one->output, five->output));
}

TEST_CASE("what leaves the range of a 16-bit type is left to the reference") {
  RandomRequests random(65);
  AttentionRequest request = attention(random, {40, 50, 8, 8}, DType::float16);
  const attn::Sequences kept = sequences(request);
  // 2 · 60000 is beyond 65504.
  sequences(request).query = with_number(kept.query, 5, 60000);
  std::vector<double> all(kept.key.size(), 2);
  sequences(request).key = Tensor(kept.key.shape(), std::move(all)).converted(DType::float16);
  CHECK(!fast(request));
  sequences(request) = kept;
  sequences(request).value = with_number(kept.value, 5, INFINITY);
  CHECK(!fast(request));
  sequences(request) = kept;
  sequences(request).key = with_number(kept.key, 5, NAN);
  CHECK(!fast(request));
  sequences(request) = kept;
  CHECK(fast(request));
}

}  // namespace
