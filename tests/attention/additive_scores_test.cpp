#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "attention/fast_and_reference.hpp"
#include "attention/kernel_attention.hpp"
#include "attention/random_request.hpp"
#include "kernels/every_target.hpp"

namespace {

using attn::AttentionRequest;
using attn::AttentionResult;
using attn::DType;
using attn::Kind;
using attn::Shape;
using attn::Tensor;
using attn::testing::exact;
using attn::testing::fast;
using attn::testing::numbers;
using attn::testing::on_every_target;
using attn::testing::RandomRequests;
using attn::testing::rounded;
using attn::testing::same_bits;
using attn::testing::sequences;
using attn::testing::with_number;

constexpr float infinity = std::numeric_limits<float>::infinity();

attn::Additive& additive_of(AttentionRequest& request) {
  return std::get<attn::Additive>(request.score);
}

AttentionRequest additive(RandomRequests& random, const Shape& query, const Shape& key,
                          std::size_t hidden) {
  AttentionRequest request = random.request(Kind::additive, query, key);
  attn::Additive& score = additive_of(request);
  score.W_q = random.normal({hidden, query.back()});
  score.W_k = random.normal({hidden, key.back()});
  score.w_v = random.normal({1, hidden});
  return rounded(request);
}

double largest(const Tensor& tensor) {
  double size = 0;
  for (const double x : numbers(tensor)) size = std::max(size, std::abs(x));
  return size;
}

// The largest distance of a score from the reference: the bound of the kernel, and what rounding
// the projections, sums of D products, makes of it; tanh grows at most as fast as its argument.
double score_bound(const AttentionRequest& request) {
  const attn::Additive& score = std::get<attn::Additive>(request.score);
  double weights = 0;
  for (const double w : numbers(score.w_v)) weights += std::abs(w);
  const auto projection = [](const Tensor& states, const Tensor& W) {
    const auto width = static_cast<double>(W.shape()[1]);
    return (width + 1) * width * largest(states) * largest(W);
  };
  const double projections =
      projection(score.query, score.W_q) +
      std::max(projection(score.key_or_query(), score.W_k), projection(score.past_key, score.W_k));
  const double units = static_cast<double>(score.w_v.size());
  const double scale = std::abs(request.scale.value_or(1));
  // The scale and the softcap round too.
  const double u = request.dtype == DType::float64 ? 0x1p-53 : 0x1p-24;
  return (44 + units / 2 + projections + 4) * u * weights * scale;
}

// A weight whose score and largest score are off by δ each is off by a factor e^(2δ); the softmax
// of the kernels is within kernel_bound().
void check_one_type(const AttentionRequest& request) {
  const AttentionResult expected = exact(request);
  const double relative =
      std::expm1(2 * score_bound(request)) + attn::testing::kernel_bound(request.dtype);
  const double value_size =
      std::max(largest(value_of(request.score)), largest(sequences(request).past_value));
  for (const bool weights : {true, false}) {
    AttentionRequest wanted = request;
    wanted.weights = weights;
    const std::optional<AttentionResult> result = fast(wanted);
    REQUIRE(result);
    CHECK(result->output.shape() == expected.output.shape());
    CHECK(attn::testing::difference(result->output, expected.output) <= relative * value_size);
    CHECK(result->empty_rows == expected.empty_rows);
    CHECK(static_cast<bool>(result->weights) == weights);
    if (!weights) continue;
    CHECK(same_bits(result->allowed, expected.allowed));
    const std::vector<double> found = numbers(result->weights),
                              wanted_weights = numbers(expected.weights);
    REQUIRE(found.size() == wanted_weights.size());
    bool near = true;
    for (std::size_t i = 0; i < found.size(); ++i) {
      near = near && std::abs(found[i] - wanted_weights[i]) <= relative * wanted_weights[i];
    }
    CHECK(near);
  }
}

// In both precisions.
void check_as_reference(const AttentionRequest& request) {
  check_one_type(request);
  check_one_type(rounded(request, DType::float64));
}

TEST_CASE("fast additive attention agrees with the reference for every arrangement of heads") {
  on_every_target([] {
    RandomRequests random(1);
    check_as_reference(additive(random, {7, 3}, {40, 2}, 5));
    check_as_reference(additive(random, {2, 100, 3}, {2, 70, 2}, 9));
    check_as_reference(additive(random, {2, 6, 20, 3}, {2, 2, 35, 4}, 8));
    check_as_reference(additive(random, {1, 4, 20, 3}, {3, 2, 35, 4}, 8));
    check_as_reference(additive(random, {3, 4, 20, 3}, {1, 2, 35, 4}, 8));
    AttentionRequest split = additive(random, {2, 20, 12}, {2, 30, 6}, 4);
    sequences(split).heads = 6;
    sequences(split).kv_heads = 3;
    additive_of(split).W_q = random.normal({4, 2});
    additive_of(split).W_k = random.normal({4, 2});
    sequences(split).value = random.normal({2, 30, 9});
    check_as_reference(rounded(split));
    AttentionRequest continued = additive(random, {2, 3, 20, 4}, {2, 3, 30, 4}, 6);
    sequences(continued).past_key = random.normal({2, 3, 17, 4});
    Shape past = sequences(continued).value.shape();
    past[2] = 17;
    sequences(continued).past_value = random.normal(past);
    continued.mask.causal = true;
    check_as_reference(rounded(continued));
    AttentionRequest self = additive(random, {2, 50, 4}, {2, 50, 4}, 6);
    sequences(self).key = sequences(self).value = {};
    check_as_reference(self);
  });
}

TEST_CASE("fast additive attention agrees with the reference in blocks of every size") {
  on_every_target([] {
    RandomRequests random(2);
    // Wide values make the largest blocks, as pooled maps do.
    AttentionRequest wide = additive(random, {300, 3}, {40, 2}, 5);
    sequences(wide).value = random.normal({40, 800});
    check_as_reference(rounded(wide));
    AttentionRequest pooled = additive(random, {300, 3}, {40, 2}, 5);
    pooled.weights = false;
    pooled.pool = attn::Pooling{10, attn::Pooling::Reduction::mean};
    const std::optional<AttentionResult> result = fast(pooled);
    REQUIRE(result);
    const double relative = std::expm1(2 * score_bound(pooled)) + 2e-5;
    CHECK(attn::testing::difference(result->pooled, exact(pooled).pooled) <= relative);
  });
}

TEST_CASE("fast additive attention agrees with the reference for every part of a mask") {
  on_every_target([] {
    RandomRequests random(2);
    attn::testing::for_masks(random,
                             [&] {
                               return additive(random, {2, 2, 40, 3}, {2, 2, 150, 3}, 6);
                             },
                             check_as_reference, {"alibi"});
    AttentionRequest empty = additive(random, {2, 2, 110, 3}, {2, 2, 150, 3}, 6);
    empty.mask.valid_lens = Tensor({2}, std::vector<std::int64_t>{0, 101});
    check_as_reference(empty);
  });
}

TEST_CASE("fast additive attention agrees with the reference for scale and softcap") {
  on_every_target([] {
    RandomRequests random(3);
    AttentionRequest request = additive(random, {2, 50, 4}, {2, 60, 4}, 6);
    request.scale = -0.7;
    check_as_reference(request);
    request.softcap = 1.5;
    request.mask.causal = true;
    check_as_reference(request);
  });
}

TEST_CASE("fast additive attention agrees with the reference where projections are large") {
  on_every_target([] {
    RandomRequests random(4);
    // A projection is a row's only number times ±1: exact.
    for (const float large : {33.9F, 34.1F, 35.0F, 1e5F, 3e38F}) {
      CAPTURE(large);
      AttentionRequest request = additive(random, {40, 1}, {50, 1}, 3);
      additive_of(request).W_q = Tensor({3, 1}, std::vector<float>{1, -1, 1});
      additive_of(request).W_k = Tensor({3, 1}, std::vector<float>{1, 1, -1});
      for (std::size_t i = 0; i < 40; i += 5) {
        sequences(request).query =
            with_number(sequences(request).query, i, i % 2 == 0 ? large : -large);
      }
      for (std::size_t j = 0; j < 50; j += 7) {
        sequences(request).key =
            with_number(sequences(request).key, j, j % 2 == 0 ? large : -large);
      }
      for (const DType dtype : {DType::float32, DType::float64}) {
        const AttentionRequest own = rounded(request, dtype);
        const AttentionResult expected = exact(own);
        const std::optional<AttentionResult> result = fast(own);
        REQUIRE(result);
        // Rounding a + b changes tanh by less than half a unit; the rest is as in score_bound(),
        // without projections.
        double weights = 0;
        for (const double w : numbers(additive_of(request).w_v)) weights += std::abs(w);
        const double u = dtype == DType::float64 ? 0x1p-53 : 0x1p-24;
        const double relative =
            std::expm1(2 * (44 + 1.5 + 4) * u * weights) + attn::testing::kernel_bound(dtype);
        CHECK(attn::testing::difference(result->weights, expected.weights) <= relative);
      }
    }
  });
}

TEST_CASE("wide keys that are hidden change no bit of fast additive attention") {
  on_every_target([] {
    RandomRequests random(5);
    AttentionRequest request = additive(random, {30, 6}, {80, 6}, 7);
    sequences(request).value = random.normal({80, 3}).converted(DType::float32);
    request.mask.valid_lens = Tensor({}, std::vector<std::int64_t>{71});
    const std::optional<AttentionResult> plain = fast(request);
    REQUIRE(plain);
    for (const float special : {100.0F, infinity, -infinity, std::nanf("")}) {
      AttentionRequest other = request;
      sequences(other).key = with_number(sequences(other).key, 71 * 6 + 1, special);
      sequences(other).value = with_number(sequences(other).value, 75 * 3 + 2, special);
      const std::optional<AttentionResult> result = fast(other);
      REQUIRE(result);
      CHECK(same_bits(result->weights, plain->weights));
      CHECK(same_bits(result->output, plain->output));
    }
  });
}

TEST_CASE("NaN and infinity that additive attention sees give what the reference gives") {
  RandomRequests random(6);
  for (const float special : {infinity, -infinity, std::nanf("")}) {
    for (const bool in_query : {true, false}) {
      CAPTURE(special);
      CAPTURE(in_query);
      AttentionRequest request = additive(random, {1, 64, 16}, {1, 512, 16}, 128);
      sequences(request).value = random.normal({1, 512, 128}).converted(DType::float32);
      Tensor& tensor = in_query ? sequences(request).query : sequences(request).key;
      tensor = with_number(tensor, 20 * 16 + 3, special);
      // An infinite number makes the projections of its row infinite, whose tanh is ±1.
      for (const DType dtype : {DType::float32, DType::float64}) {
        const AttentionRequest own = rounded(request, dtype);
        const AttentionResult result = attend(own), expected = exact(own);
        // Scores of 128 units whose projections sum 16 products, as score_bound() has it.
        const double bound = dtype == DType::float64 ? 1e-11 : 5e-3;
        const std::vector<double> found = numbers(result.output), exact = numbers(expected.output);
        bool near = found.size() == exact.size();
        for (std::size_t i = 0; near && i < found.size(); ++i) {
          near = (std::isnan(found[i]) && std::isnan(exact[i])) ||
                 std::abs(found[i] - exact[i]) <= bound;
        }
        CHECK(near);
      }
    }
  }
}

TEST_CASE("fast additive attention has the same bits for any number of threads") {
  on_every_target([] {
    RandomRequests random(7);
    for (const Shape& shape : {Shape{1, 1, 200, 5}, Shape{3, 4, 60, 5}}) {
      AttentionRequest request = additive(random, shape, shape, 7);
      request.mask.causal = true;
      sequences(request).key = with_number(sequences(request).key, 150, 1e3F);
      for (const bool weights : {true, false}) {
        request.weights = weights;
        request.threads = 1;
        const std::optional<AttentionResult> one = fast(request);
        REQUIRE(one);
        for (const std::size_t threads : {2, 3, 7}) {
          request.threads = threads;
          const std::optional<AttentionResult> many = fast(request);
          REQUIRE(many);
          CHECK(same_bits(many->output, one->output));
          if (weights) CHECK(same_bits(many->weights, one->weights));
        }
      }
    }
  });
}

}  // namespace
