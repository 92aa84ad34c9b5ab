#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"

#include "attention/random_request.hpp"
#include "kernels/every_target.hpp"

namespace {

using attn::AttentionRequest;
using attn::AttentionResult;
using attn::DType;
using attn::Kind;
using attn::Shape;
using attn::Tensor;
using attn::testing::numbers;
using attn::testing::on_every_target;
using attn::testing::RandomRequests;
using attn::testing::sequences;

Tensor full(const Shape& shape, float number) {
  return {shape, std::vector<float>(attn::element_count(shape), number)};
}

TEST_CASE("what could leave the range of single precision is computed as if it could not") {
  on_every_target([] {
    // Of few queries, narrow heads, wide ones; 2¹⁷ pairs are enough for the kernels to pay.
    for (const auto& sizes : std::vector<std::array<std::size_t, 3>>{
             {4, 16384, 64}, {512, 1024, 8}, {256, 512, 64}, {16, 512, 800}}) {
      const auto queries = sizes[0], keys = sizes[1], width = sizes[2];
      for (const bool weights : {true, false}) {
        CAPTURE(queries);
        CAPTURE(width);
        CAPTURE(weights);
        AttentionRequest request;
        request.score = attn::DotProduct{};
        request.weights = weights;
        sequences(request).query = full({queries, width}, 1e20F);
        sequences(request).key = full({keys, width}, -1e20F);
        sequences(request).value = full({keys, width}, 2);
        const auto check = [&] {
          const AttentionResult result = attn::attend(request);
          CHECK(result.empty_rows == 0);
          for (const double x : numbers(result.output)) {
            if (x != 2) FAIL("an output is not 2");
          }
        };
        // Scores of −∞ would be those of hidden keys.
        check();
        // Partial sums may overflow though the score does not.
        std::vector<float> signs(keys * width);
        for (std::size_t i = 0; i < signs.size(); ++i) signs[i] = i % width < width / 2 ? -2 : 2;
        sequences(request).query = full({queries, width}, 1.7e38F);
        sequences(request).key = Tensor({keys, width}, std::move(signs));
        check();
        // What is not finite and hidden makes no difference.
        sequences(request).query = full({queries, width}, 1e20F);
        std::vector<float> numbers_with_nan(keys * width, 1e20F);
        numbers_with_nan.back() = std::numeric_limits<float>::quiet_NaN();
        sequences(request).key = Tensor({keys, width}, std::move(numbers_with_nan));
        request.mask.valid_lens =
            Tensor({1}, std::vector<std::int64_t>{static_cast<std::int64_t>(keys) - 1});
        check();
        // Sums of values.
        request.mask = {};
        sequences(request).query = full({queries, width}, 0);
        sequences(request).key = full({keys, width}, 0);
        sequences(request).value = full({keys, width}, 3e38F);
        const AttentionResult large = attn::attend(request);
        for (const double x : numbers(large.output)) {
          if (!(std::abs(x / 3e38 - 1) < 1e-6)) FAIL("an output is not 3e38");
        }
      }
    }
    // Keys that leave the range by their projection, and scores by their scale.
    AttentionRequest general;
    general.score =
        attn::General{{full({256, 64}, 1e-30F), full({256, 64}, 1e4F), full({256, 64}, 2)},
                      full({64, 64}, 1e36F)};
    general.weights = false;
    general.scale = 1e-12;
    for (const double x : numbers(attn::attend(general).output)) CHECK(x == 2);
    RandomRequests random(31);
    AttentionRequest additive = random.request(Kind::additive, {1, 512, 8}, {1, 1024, 8});
    additive.dtype = DType::float32;
    additive.stages = false;
    additive.scale = 1e38;
    const AttentionResult scaled = attn::attend(additive);
    CHECK(scaled.empty_rows == 0);
    for (const double x : numbers(scaled.output)) {
      if (!std::isfinite(x)) FAIL("an output is not finite");
    }
  });
}

TEST_CASE("scores of large numbers that matrix tiles hold do not pass for those of hidden keys") {
  on_every_target([] {
    AttentionRequest request;
    request.score.emplace<attn::DotProduct>();
    request.weights = false;
    sequences(request).query = full({128, 384}, 0x1p59F);
    sequences(request).value = full({128, 64}, 2);
    const auto check = [&] {
      const AttentionResult result = attn::attend(request);
      CHECK(result.empty_rows == 0);
      for (const double x : numbers(result.output)) {
        if (x != 2) FAIL("an output is not 2");
      }
    };
    sequences(request).key = full({128, 384}, -0x1p60F);
    check();
    // The first score is 0, by way of a partial sum beyond the range; it takes all the weight.
    constexpr std::size_t width = 768;
    std::vector<float> keys(128 * width, -0x1p30F), values(std::size_t{128} * 64, 7);
    for (std::size_t k = 0; k < width; ++k) keys[k] = k < width / 2 ? -0x1p60F : 0x1p60F;
    std::fill_n(values.begin(), 64, 2.0F);
    sequences(request).query = full({128, width}, 0x1p59F);
    sequences(request).key = Tensor({128, width}, std::move(keys));
    sequences(request).value = Tensor({128, 64}, std::move(values));
    check();
  });
}

}  // namespace
