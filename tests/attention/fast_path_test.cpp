#include "attention/fast_path.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attention/random_request.hpp"
#include "attention/reference.hpp"
#include "kernels/cpu_target.hpp"
#include "kernels/every_target.hpp"

namespace {

using attn::AttentionRequest;
using attn::AttentionResult;
using attn::DType;
using attn::Kind;
using attn::Shape;
using attn::Tensor;
using attn::testing::compare_by;
using attn::testing::numbers;
using attn::testing::on_every_target;
using attn::testing::RandomRequests;
using attn::testing::same_bits;
using attn::testing::sequences;

constexpr float infinity = std::numeric_limits<float>::infinity();

// The inputs in the precision of the result, so that both ways compute from the same numbers.
AttentionRequest rounded(AttentionRequest request, DType dtype = DType::float32) {
  request.dtype = dtype;
  request.stages = false;
  for (Tensor* tensor :
       {&sequences(request).query, &sequences(request).key, &sequences(request).value,
        &sequences(request).past_key, &sequences(request).past_value}) {
    *tensor = tensor->converted(dtype);
  }
  for (Tensor* parameter : attn::parameters_of(request.score)) {
    *parameter = parameter->converted(dtype);
  }
  return request;
}

std::optional<AttentionResult> fast(const AttentionRequest& request) {
  const attn::Geometry geometry = attn::check_geometry(request);
  const attn::Visibility visibility(request.mask, geometry);
  return attn::fast_attention(request, geometry, visibility);
}

AttentionResult reference(AttentionRequest request) {
  request.dtype = DType::float64;
  const attn::Geometry geometry = attn::check_geometry(request);
  return attn::reference_attention(request, geometry, attn::Visibility(request.mask, geometry));
}

// The error that a weight may have, relative to itself, and an output, relative to the largest
// value it may hold, about 1 here. With u the unit roundoff (2⁻²⁴, 2⁻⁵³), D the width and s the
// largest sum of the absolute products of one score in units of ln 2, D below 64 and s below 40
// here:
// 1. A score is off by at most (D + 3) u s: D products are added one after the other, and the query
//    was multiplied by scale · log₂ e, a product that is rounded itself. In practice the errors of
//    the sum grow with √D, and s is ten times the score.
// 2. 2^score by 0.7 times that, relative, and 4 u for the polynomial.
// 3. The sum of L such, added in lanes and then across them, by (L / lanes + lanes) u more.
// 4. The product with the values by L u in the worst case.
// All worst cases at once would give 64 · 40 · u = 1.5e-4; scores of random numbers stay ten times
// below it.
double bound(DType dtype) {
  return dtype == DType::float32 ? 2e-5 : 4e-14;
}

// Whether each number is within a relative bound(), or absolutely within that of `unit`.
bool near(const Tensor& result, const Tensor& expected, double unit) {
  if (result.shape() != expected.shape()) return false;
  const std::vector<double> a = numbers(result), b = numbers(expected);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    if (!(std::abs(a[i] - b[i]) <= bound(result.dtype()) * std::max(std::abs(b[i]), unit))) {
      MESSAGE("at " << i << ": " << a[i] << " instead of " << b[i]);
      return false;
    }
  }
  return true;
}

// With and without the weights; zeros of the reference are zeros here.
void check_one_type(const AttentionRequest& request) {
  const AttentionResult expected = reference(request);
  const std::optional<AttentionResult> result = fast(request);
  REQUIRE(result);
  CHECK(near(result->output, expected.output, 1));
  CHECK(near(result->weights, expected.weights, 1e-30));
  CHECK(same_bits(result->allowed, expected.allowed));
  CHECK(result->empty_rows == expected.empty_rows);

  AttentionRequest without = request;
  without.weights = false;
  const std::optional<AttentionResult> output = fast(without);
  REQUIRE(output);
  CHECK(!output->weights);
  CHECK(!output->allowed);
  CHECK(near(output->output, expected.output, 1));
  CHECK(output->empty_rows == expected.empty_rows);
}

// In both precisions.
void check_as_reference(const AttentionRequest& request) {
  check_one_type(request);
  check_one_type(rounded(request, DType::float64));
}

AttentionRequest attention(RandomRequests& random, const Shape& query, const Shape& key,
                           std::size_t value_width) {
  AttentionRequest request;
  request.threads = 1;
  sequences(request).query = random.normal(query);
  sequences(request).key = random.normal(key);
  Shape value = key;
  value.back() = value_width;
  sequences(request).value = random.normal(value);
  return rounded(request);
}

Tensor lens(Shape shape, std::vector<std::int64_t> numbers) {
  return {std::move(shape), std::move(numbers)};
}

Tensor with_number(const Tensor& tensor, std::size_t at, float number) {
  if (tensor.dtype() == DType::float64) {
    std::vector<double> copy = numbers(tensor);
    copy[at] = static_cast<double>(number);
    return {tensor.shape(), std::move(copy)};
  }
  const auto values = tensor.values<float>();
  std::vector<float> copy(values.begin(), values.end());
  copy[at] = number;
  return {tensor.shape(), std::move(copy)};
}

}  // namespace

TEST_CASE("the fast path agrees with the reference for every remainder of queries") {
  on_every_target([] {
    RandomRequests random(1);
    // Narrow heads in panels of up to 32 queries, wide ones in strips of up to 12; few queries
    // apart.
    for (std::size_t queries = 1; queries <= 33; ++queries) {
      CAPTURE(queries);
      check_as_reference(attention(random, {queries, 3}, {7, 3}, 5));
      check_as_reference(attention(random, {queries, 18}, {7, 18}, 5));
    }
    for (std::size_t queries : {95, 96, 97, 192, 193}) {
      CAPTURE(queries);
      check_as_reference(attention(random, {queries, 8}, {50, 8}, 9));
      check_as_reference(attention(random, {queries, 20}, {50, 20}, 9));
    }
    // Matrix tiles: blocks of 96 or 128 queries in strips of 32.
    for (std::size_t queries = 32; queries <= 66; ++queries) {
      CAPTURE(queries);
      check_one_type(attention(random, {queries, 24}, {70, 24}, 25));
    }
    for (std::size_t queries : {95, 96, 97, 127, 128, 129, 193}) {
      CAPTURE(queries);
      check_one_type(attention(random, {queries, 24}, {70, 24}, 25));
      check_one_type(attention(random, {queries, 400}, {70, 400}, 390));
    }
  });
}

TEST_CASE("the fast path agrees with the reference for every remainder of keys") {
  on_every_target([] {
    RandomRequests random(13);
    // Few queries, narrow heads, wide ones.
    for (std::size_t keys = 1; keys <= 66; ++keys) {
      CAPTURE(keys);
      check_as_reference(attention(random, {3, 4}, {keys, 4}, 2));
      check_as_reference(attention(random, {9, 4}, {keys, 4}, 2));
      check_as_reference(attention(random, {9, 17}, {keys, 17}, 2));
    }
    for (std::size_t keys : {191, 192, 193, 383, 384, 385, 400, 1023, 1024, 1025}) {
      CAPTURE(keys);
      check_as_reference(attention(random, {5, 8}, {keys, 8}, 9));
      check_as_reference(attention(random, {13, 8}, {keys, 8}, 9));
      check_as_reference(attention(random, {13, 17}, {keys, 17}, 9));
      check_one_type(attention(random, {33, 24}, {keys, 24}, 25));
    }
    for (std::size_t keys = 32; keys <= 98; ++keys) {
      CAPTURE(keys);
      check_one_type(attention(random, {33, 24}, {keys, 24}, 25));
    }
  });
}

TEST_CASE("the fast path agrees with the reference for every width") {
  on_every_target([] {
    RandomRequests random(2);
    for (std::size_t width = 1; width <= 34; ++width) {
      CAPTURE(width);
      check_as_reference(attention(random, {2, width}, {40, width}, 35 - width));
      check_as_reference(attention(random, {9, width}, {40, width}, 35 - width));
      check_as_reference(
          attention(random, {9, width % 16 + 1}, {40, width % 16 + 1}, 1 + width / 2));
    }
    for (std::size_t width = 10; width <= 66; ++width) {
      CAPTURE(width);
      check_one_type(attention(random, {33, width}, {70, width}, 76 - width));
    }
    // Widths at which the blocks of keys become shorter and a product is summed in parts.
    for (std::size_t width : {200, 300, 512}) {
      CAPTURE(width);
      check_as_reference(attention(random, {14, width}, {270, width}, width - 70));
      check_one_type(attention(random, {40, width}, {270, width}, width - 70));
    }
  });
}

TEST_CASE("the fast path agrees with the reference for grouped, split and continued heads") {
  on_every_target([] {
    RandomRequests random(3);
    check_as_reference(attention(random, {2, 6, 20, 8}, {2, 2, 30, 8}, 4));
    check_as_reference(attention(random, {1, 6, 20, 8}, {3, 3, 30, 8}, 4));
    check_as_reference(attention(random, {2, 6, 40, 32}, {2, 2, 70, 32}, 36));
    AttentionRequest split = attention(random, {2, 20, 24}, {2, 30, 12}, 6);
    sequences(split).heads = 6;
    sequences(split).kv_heads = 3;
    check_as_reference(split);
    AttentionRequest continued = attention(random, {2, 3, 20, 8}, {2, 3, 30, 8}, 4);
    sequences(continued).past_key = random.normal({2, 3, 17, 8});
    sequences(continued).past_value = random.normal({2, 3, 17, 4});
    continued.mask.causal = true;
    check_as_reference(rounded(continued));
    AttentionRequest self;
    sequences(self).query = random.normal({2, 50, 8});
    sequences(self).heads = 2;
    check_as_reference(rounded(self));
  });
}

TEST_CASE("the fast path agrees with the reference for general attention") {
  on_every_target([] {
    RandomRequests random(4);
    AttentionRequest request = random.request(Kind::general, {2, 2, 30, 5}, {2, 2, 120, 3});
    sequences(request).past_key = random.normal({2, 2, 4, 3});
    Shape past = sequences(request).value.shape();
    past[2] = 4;
    sequences(request).past_value = random.normal(past);
    check_as_reference(rounded(request));
    AttentionRequest split = random.request(Kind::general, {2, 30, 10}, {2, 20, 6});
    std::get<attn::General>(split.score).W = random.normal({5, 3});
    sequences(split).heads = 2;
    sequences(split).value = {};
    check_as_reference(rounded(split));
  });
}

TEST_CASE("the fast path agrees with the reference for every part of a mask") {
  on_every_target([] {
    RandomRequests random(5);
    std::size_t width = 0;
    const auto request = [&] {
      return attention(random, {2, 2, 110, width}, {2, 2, 420, width}, width - 1);
    };
    for (const std::size_t narrow_then_wide : {6, 20, 26}) {
      width = narrow_then_wide;
      AttentionRequest causal = request();
      causal.mask.causal = true;
      check_as_reference(causal);
      causal.mask.align = attn::Alignment::lower_right;
      check_as_reference(causal);
      causal.mask.window = attn::Window{10, {}};
      check_as_reference(causal);
      AttentionRequest window = request();
      window.mask.window = attn::Window{3, 50};
      check_as_reference(window);
      window.mask.global = {0, 77, 419};
      check_as_reference(window);
      AttentionRequest empty = request();
      empty.mask.valid_lens = lens({2}, {0, 401});
      check_as_reference(empty);
      AttentionRequest each = request();
      std::vector<std::int64_t> counts(220);
      for (std::int64_t& count : counts) count = static_cast<std::int64_t>(random.number(0, 420));
      each.mask.valid_lens = lens({2, 110}, std::move(counts));
      check_as_reference(each);
      AttentionRequest flags = request();
      flags.mask.padding = random.flags({2, 420}, 0.3);
      check_as_reference(flags);
      flags.mask.allow = random.flags({2, 1, 110, 420}, 0.5);
      flags.mask.block = random.flags({110, 1}, 0.2);
      check_as_reference(flags);
      flags.mask.causal = true;
      check_as_reference(flags);
    }
    // Few queries, which stand at the last of many keys.
    AttentionRequest few = attention(random, {2, 4, 3, 8}, {2, 2, 1300, 8}, 5);
    few.mask.causal = true;
    few.mask.align = attn::Alignment::lower_right;
    check_as_reference(few);
    few.mask.padding = random.flags({2, 1300}, 0.3);
    few.mask.window = attn::Window{1100, {}};
    check_as_reference(few);
  });
}

TEST_CASE("the fast path agrees with the reference for scale, softcap and bias") {
  on_every_target([] {
    RandomRequests random(6);
    for (const auto& [queries, width] :
         {std::pair{50, 18}, std::pair{50, 16}, std::pair{4, 16}, std::pair{50, 24}}) {
      CAPTURE(queries);
      CAPTURE(width);
      const Shape shape{2, static_cast<std::size_t>(queries), static_cast<std::size_t>(width)};
      AttentionRequest request = attention(random, shape, {2, 400, shape[2]}, 16);
      request.scale = -0.7;
      request.softcap = 3.0;
      check_as_reference(request);
      request.softcap = 1000.0;
      request.mask.bias = random.normal({shape[1], 400});
      check_as_reference(request);
      std::vector<double> bias = numbers(request.mask.bias);
      for (std::size_t i = 0; i < bias.size(); i += 3) bias[i] = -HUGE_VAL;
      for (std::size_t i = 800; i < 1200; ++i) bias[i] = -HUGE_VAL;
      request.mask.bias = attn::testing::doubles({shape[1], 400}, std::move(bias));
      check_as_reference(request);
      request.scale = 0.0;
      compare_by<attn::DotProduct>(request);
      check_as_reference(request);
    }
  });
}

TEST_CASE("matrix tiles lose no precision beside vectors of floats") {
  if (attn::kernels::cpu_targets().front() != "amx") return;
  RandomRequests random(15);
  for (const std::size_t width : {32, 64, 256}) {
    CAPTURE(width);
    AttentionRequest request = attention(random, {1, 2, 200, width}, {1, 2, 700, width}, width);
    request.weights = false;
    const std::vector<double> exact = numbers(reference(request).output);
    const auto error = [&](std::string_view target) {
      REQUIRE(attn::kernels::use_cpu_target(target));
      const std::vector<double> output = numbers(fast(request)->output);
      double squares = 0;
      for (std::size_t i = 0; i < exact.size(); ++i) squares += std::pow(output[i] - exact[i], 2);
      return std::sqrt(squares / static_cast<double>(exact.size()));
    };
    const double vectors = error("avx512"), tiles = error("amx");
    attn::kernels::use_cpu_target("");
    CHECK(tiles <= 1.5 * vectors);
    CHECK(tiles <= 1e-7);
  }
}

TEST_CASE("scores far beyond the exponents of their type are shifted to where they can be summed") {
  on_every_target([] {
    RandomRequests random(14);
    for (const std::size_t queries : {3, 40}) {
      for (const std::size_t width : {2, 20, 33}) {
        // Differences of 4096 between scores: all weights but the largest are exactly 0 or 1, and
        // in the single precision of scores about 2²⁶ a unit in the last place is 4.
        std::vector<float> query(queries * width, 0.0F), key(50 * width, 0.0F);
        for (std::size_t i = 0; i < queries; ++i) query[i * width] = 4096.0F;
        for (std::size_t j = 0; j < 50; ++j) {
          key[j * width] = 16384.0F - static_cast<float>((j * 7) % 50);
        }
        AttentionRequest request;
        request.threads = 1;
        request.score = attn::DotProduct{};
        sequences(request).query = Tensor({queries, width}, std::move(query));
        sequences(request).key = Tensor({50, width}, std::move(key));
        sequences(request).value = random.normal({50, width});
        check_as_reference(rounded(request));
        request.scale = -1.0;
        check_as_reference(rounded(request));
      }
    }
  });
}

TEST_CASE(
    "a key hidden from a query contributes nothing to it in the fast path, whatever it holds") {
  on_every_target([] {
    RandomRequests random(7);
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (const auto& [queries, width] :
           {std::pair{30, 6}, std::pair{30, 20}, std::pair{5, 20}, std::pair{40, 24}}) {
        CAPTURE(queries);
        CAPTURE(width);
        const std::size_t w = static_cast<std::size_t>(width);
        AttentionRequest request =
            rounded(attention(random, {static_cast<std::size_t>(queries), w}, {420, w}, w), dtype);
        request.mask.valid_lens = lens({}, {411});
        const std::optional<AttentionResult> plain = fast(request);
        AttentionRequest without = request;
        without.weights = false;
        const std::optional<AttentionResult> plain_output = fast(without);
        for (const float odd : {infinity, -infinity, std::nanf(""), std::nanf("7")}) {
          for (std::size_t key : {411, 419}) {
            sequences(request).key = with_number(sequences(request).key, key * w + 1, odd);
            sequences(request).value = with_number(sequences(request).value, key * w + 2, odd);
          }
          const std::optional<AttentionResult> result = fast(request);
          REQUIRE(result);
          CHECK(same_bits(result->weights, plain->weights));
          CHECK(same_bits(result->output, plain->output));
          sequences(without).key = sequences(request).key;
          sequences(without).value = sequences(request).value;
          const std::optional<AttentionResult> output = fast(without);
          REQUIRE(output);
          CHECK(same_bits(output->output, plain_output->output));
        }
      }
    }
  });
}

TEST_CASE("NaN and infinity that are seen give what the reference gives") {
  on_every_target([] {
    RandomRequests random(8);
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (const auto& [queries, width] :
           {std::pair{30, 6}, std::pair{30, 20}, std::pair{5, 20}, std::pair{40, 24}}) {
        for (const float odd : {infinity, -infinity, std::nanf(""), std::nanf("7")}) {
          for (const int place : {0, 1, 2, 3}) {
            CAPTURE(queries);
            CAPTURE(width);
            CAPTURE(odd);
            CAPTURE(place);
            const std::size_t w = static_cast<std::size_t>(width);
            const std::size_t rows = static_cast<std::size_t>(queries);
            AttentionRequest request = rounded(attention(random, {rows, w}, {420, w}, w), dtype);
            if (place < 3) {
              request.mask.causal = true;
              Tensor& tensor = place == 0   ? sequences(request).query
                               : place == 1 ? sequences(request).key
                                            : sequences(request).value;
              tensor = with_number(tensor, (rows - 2) * w + 3, odd);
            } else {
              // A value beyond those of the first block of keys, without a mask.
              sequences(request).value = with_number(sequences(request).value, 401 * w + 3, odd);
            }
            request.weights = false;
            const std::optional<AttentionResult> result = fast(request);
            REQUIRE(result);
            CHECK(near(result->output, reference(request).output, 1));
            // Weights of such rows are left to the reference.
            request.weights = true;
            if (const auto with_weights = fast(request)) {
              CHECK(near(with_weights->weights, reference(request).weights, 1e-30));
              CHECK(near(with_weights->output, reference(request).output, 1));
            }
          }
        }
      }
    }
  });
}

TEST_CASE("scores beyond single precision are left to the reference") {
  on_every_target([] {
    RandomRequests random(9);
    AttentionRequest request = attention(random, {3, 2}, {5, 2}, 2);
    sequences(request).query = with_number(sequences(request).query, 0, 3e38F);
    sequences(request).key = with_number(sequences(request).key, 0, 3e38F);
    CHECK_FALSE(fast(request));
    request.weights = false;
    CHECK_FALSE(fast(request));
  });
}

TEST_CASE("the fast path gives the same bits for any number of threads") {
  on_every_target([] {
    RandomRequests random(10);
    // Wide and narrow heads, many of them and few queries.
    for (const Shape& shape : {Shape{1, 1, 400, 20}, Shape{1, 1, 400, 36}, Shape{3, 4, 130, 36},
                               Shape{1, 1, 400, 16}, Shape{3, 4, 130, 5}, Shape{1, 2, 3, 20}}) {
      const Shape keys{shape[0], shape[1], shape[2] == 3 ? 4100 : shape[2], shape[3]};
      AttentionRequest request = attention(random, shape, keys, 7);
      request.mask.causal = true;
      request.mask.align = attn::Alignment::lower_right;
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

TEST_CASE("what needs the steps of the score, dropout or a fill is not for the fast path") {
  RandomRequests random(11);
  const AttentionRequest plain = attention(random, {3, 2}, {5, 2}, 2);
  const auto supported = [](const AttentionRequest& request) { return fast(request).has_value(); };
  CHECK(supported(plain));
  AttentionRequest stages = plain;
  stages.stages = true;
  CHECK_FALSE(supported(stages));
  AttentionRequest fill = plain;
  fill.mask.fill = -1e9;
  CHECK_FALSE(supported(fill));
  AttentionRequest general = plain;
  compare_by<attn::General>(general).W = random.normal({2, 2});
  CHECK(supported(general));
  general.dtype = DType::float64;
  CHECK(supported(general));
  AttentionRequest additive = random.request(Kind::additive, {1, 2, 2}, {1, 2, 2});
  CHECK(supported(rounded(additive)));
  CHECK_FALSE(supported(rounded(additive, DType::float64)));
  AttentionRequest scores = random.request(Kind::softmax, {1, 2, 2}, {1, 2, 2});
  scores.stages = false;
  CHECK_FALSE(supported(scores));
  AttentionRequest dropout = plain;
  dropout.dropout = attn::Dropout{0.5, {}};
  CHECK_FALSE(supported(dropout));
}

TEST_CASE("attend() takes the fast path for large sizes and leaves out weights nobody wants") {
  RandomRequests random(12);
  AttentionRequest request = attention(random, {2, 300, 16}, {2, 300, 16}, 16);
  request.weights = false;
  const AttentionResult result = attn::attend(request);
  CHECK(!result.weights);
  CHECK(same_bits(result.output, fast(request)->output));
}
