#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attention/fast_and_reference.hpp"
#include "attention/paths.hpp"
#include "attention/random_request.hpp"
#include "kernels/every_target.hpp"

namespace {

using attn::AttentionRequest;
using attn::AttentionResult;
using attn::DType;
using attn::Kind;
using attn::Shape;
using attn::Tensor;
using attn::testing::check_both_types;
using attn::testing::check_one_type;
using attn::testing::compare_by;
using attn::testing::fast;
using attn::testing::for_masks;
using attn::testing::numbers;
using attn::testing::on_every_target;
using attn::testing::random_attention;
using attn::testing::RandomRequests;
using attn::testing::rounded;
using attn::testing::same_bits;
using attn::testing::sequences;

// The number of valid keys.
Tensor lens(Shape shape, std::vector<std::int64_t> numbers) {
  return {std::move(shape), std::move(numbers)};
}

}  // namespace

TEST_CASE("the fast path agrees with the reference for every remainder of queries") {
  on_every_target([] {
    RandomRequests random(1);
    // Narrow heads in panels of up to 32 queries, wide ones in strips of up to 12; few queries
    // apart.
    for (std::size_t queries = 1; queries <= 33; ++queries) {
      CAPTURE(queries);
      check_both_types(random_attention(random, {queries, 3}, {7, 3}, 5));
      check_both_types(random_attention(random, {queries, 18}, {7, 18}, 5));
    }
    for (std::size_t queries : {95, 96, 97, 192, 193}) {
      CAPTURE(queries);
      check_both_types(random_attention(random, {queries, 8}, {50, 8}, 9));
      check_both_types(random_attention(random, {queries, 20}, {50, 20}, 9));
    }
    // Matrix tiles: blocks of 96 or 128 queries in strips of 32.
    for (std::size_t queries = 32; queries <= 66; ++queries) {
      CAPTURE(queries);
      check_one_type(random_attention(random, {queries, 24}, {70, 24}, 25));
    }
    for (std::size_t queries : {95, 96, 97, 127, 128, 129, 193}) {
      CAPTURE(queries);
      check_one_type(random_attention(random, {queries, 24}, {70, 24}, 25));
      check_one_type(random_attention(random, {queries, 400}, {70, 400}, 390));
    }
  });
}

TEST_CASE("the fast path agrees with the reference for every remainder of keys") {
  on_every_target([] {
    RandomRequests random(13);
    // Few queries, narrow heads, wide ones.
    for (std::size_t keys = 1; keys <= 66; ++keys) {
      CAPTURE(keys);
      check_both_types(random_attention(random, {3, 4}, {keys, 4}, 2));
      check_both_types(random_attention(random, {9, 4}, {keys, 4}, 2));
      check_both_types(random_attention(random, {9, 17}, {keys, 17}, 2));
    }
    for (std::size_t keys : {191, 192, 193, 383, 384, 385, 400, 1023, 1024, 1025}) {
      CAPTURE(keys);
      check_both_types(random_attention(random, {5, 8}, {keys, 8}, 9));
      check_both_types(random_attention(random, {13, 8}, {keys, 8}, 9));
      check_both_types(random_attention(random, {13, 17}, {keys, 17}, 9));
      check_one_type(random_attention(random, {33, 24}, {keys, 24}, 25));
    }
    for (std::size_t keys = 32; keys <= 98; ++keys) {
      CAPTURE(keys);
      check_one_type(random_attention(random, {33, 24}, {keys, 24}, 25));
    }
  });
}

TEST_CASE("the fast path agrees with the reference for every width") {
  on_every_target([] {
    RandomRequests random(2);
    for (std::size_t width = 1; width <= 34; ++width) {
      CAPTURE(width);
      check_both_types(random_attention(random, {2, width}, {40, width}, 35 - width));
      check_both_types(random_attention(random, {9, width}, {40, width}, 35 - width));
      check_both_types(
          random_attention(random, {9, width % 16 + 1}, {40, width % 16 + 1}, 1 + width / 2));
    }
    for (std::size_t width = 10; width <= 66; ++width) {
      CAPTURE(width);
      check_one_type(random_attention(random, {33, width}, {70, width}, 76 - width));
    }
    // Widths at which the blocks of keys become shorter and a product is summed in parts.
    for (std::size_t width : {200, 300, 512}) {
      CAPTURE(width);
      check_both_types(random_attention(random, {3, width}, {270, width}, width - 70));
      check_both_types(random_attention(random, {14, width}, {270, width}, width - 70));
      check_one_type(random_attention(random, {40, width}, {270, width}, width - 70));
    }
  });
}

TEST_CASE("the fast path agrees with the reference for few queries of heads that share keys") {
  on_every_target([] {
    RandomRequests random(41);
    // The rows of all heads of a group pass the keys together, some at a time.
    for (std::size_t queries = 1; queries <= 8; ++queries) {
      for (std::size_t group : {1, 2, 3, 5, 17}) {
        CAPTURE(queries);
        CAPTURE(group);
        AttentionRequest request =
            random_attention(random, {1, 2 * group, queries, 19}, {1, 2, 70, 19}, 37);
        check_both_types(request);
        // Each query sees other keys of a step, some none.
        request.mask.causal = true;
        request.mask.align = attn::Alignment::lower_right;
        request.mask.window = attn::Window{3, 0};
        check_both_types(request);
        request.mask.valid_lens = lens({1}, {64});
        check_both_types(request);
      }
    }
  });
}

TEST_CASE("the fast path agrees with the reference for queries side by side of any sizes") {
  on_every_target([] {
    RandomRequests random(43);
    // Up to 16 rows lie in lanes, before others that do not; heads wider than 128 have none. Every
    // remainder of the tiles of eight keys, and of the strips of 64 columns.
    const auto attention = [&](std::size_t keys, std::size_t width, std::size_t value_width) {
      return random_attention(random, {1, 5, 4, width}, {1, 1, keys, width}, value_width);
    };
    for (std::size_t keys = 64; keys < 72; ++keys) check_both_types(attention(keys, 9, 12));
    for (std::size_t width : {1, 2, 15, 64, 127, 128, 129, 200}) {
      CAPTURE(width);
      check_both_types(attention(130, width, 201 - width));
      AttentionRequest request = attention(130, width, width);
      request.mask.causal = true;
      request.mask.align = attn::Alignment::lower_right;
      check_both_types(request);
    }
    // Steps of 64 keys that some queries or all of them do not see.
    AttentionRequest request = attention(420, 33, 40);
    request.mask.window = attn::Window{70, 0};
    request.mask.align = attn::Alignment::lower_right;
    check_both_types(request);
    request.mask.window.reset();
    request.mask.valid_lens = lens({1}, {129});
    check_both_types(request);
  });
}

TEST_CASE("the fast path agrees with the reference for grouped, split and continued heads") {
  on_every_target([] {
    RandomRequests random(3);
    check_both_types(random_attention(random, {2, 6, 20, 8}, {2, 2, 30, 8}, 4));
    check_both_types(random_attention(random, {1, 6, 20, 8}, {3, 3, 30, 8}, 4));
    check_both_types(random_attention(random, {2, 6, 40, 32}, {2, 2, 70, 32}, 36));
    AttentionRequest split = random_attention(random, {2, 20, 24}, {2, 30, 12}, 6);
    sequences(split).heads = 6;
    sequences(split).kv_heads = 3;
    check_both_types(split);
    AttentionRequest continued = random_attention(random, {2, 3, 20, 8}, {2, 3, 30, 8}, 4);
    sequences(continued).past_key = random.normal({2, 3, 17, 8});
    sequences(continued).past_value = random.normal({2, 3, 17, 4});
    continued.mask.causal = true;
    check_both_types(rounded(continued));
    AttentionRequest self;
    sequences(self).query = random.normal({2, 50, 8});
    sequences(self).heads = 2;
    check_both_types(rounded(self));
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
    check_both_types(rounded(request));
    AttentionRequest split = random.request(Kind::general, {2, 30, 10}, {2, 20, 6});
    std::get<attn::General>(split.score).W = random.normal({5, 3});
    sequences(split).heads = 2;
    sequences(split).value = {};
    check_both_types(rounded(split));
  });
}

TEST_CASE("the fast path agrees with the reference for every part of a mask") {
  on_every_target([] {
    RandomRequests random(5);
    // Small heads, blocks, tiles.
    for (const std::size_t width : {6, 20, 26}) {
      for_masks(
          random,
          [&] {
            return random_attention(random, {2, 2, 70, width}, {2, 2, 300, width}, width - 1);
          },
          check_both_types);
    }
    for_masks(
        random,
        [&] {
          return random_attention(random, {2, 4, 3, 8}, {2, 2, 300, 8}, 5);
        },
        check_both_types);
  });
}

TEST_CASE("the fast path agrees with the reference for masks of many keys") {
  on_every_target([] {
    RandomRequests random(5);
    std::size_t width = 0;
    const auto request = [&] {
      return random_attention(random, {2, 2, 110, width}, {2, 2, 420, width}, width - 1);
    };
    for (const std::size_t narrow_then_wide : {6, 20, 26}) {
      width = narrow_then_wide;
      AttentionRequest causal = request();
      causal.mask.causal = true;
      causal.mask.align = attn::Alignment::lower_right;
      causal.mask.window = attn::Window{10, {}};
      check_both_types(causal);
      AttentionRequest empty = request();
      empty.mask.valid_lens = lens({2}, {0, 401});
      check_both_types(empty);
      AttentionRequest flags = request();
      flags.mask.padding = random.flags({2, 420}, 0.3);
      flags.mask.allow = random.flags({2, 1, 110, 420}, 0.5);
      flags.mask.block = random.flags({110, 1}, 0.2);
      flags.mask.causal = true;
      check_both_types(flags);
    }
    // Few queries, which stand at the last of many keys.
    AttentionRequest few = random_attention(random, {2, 4, 3, 8}, {2, 2, 1300, 8}, 5);
    few.mask.causal = true;
    few.mask.align = attn::Alignment::lower_right;
    check_both_types(few);
    few.mask.padding = random.flags({2, 1300}, 0.3);
    few.mask.window = attn::Window{1100, {}};
    check_both_types(few);
  });
}

TEST_CASE("the fast path agrees with the reference for scale, softcap and bias") {
  on_every_target([] {
    RandomRequests random(6);
    for (const auto& sizes :
         {std::pair{50, 18}, std::pair{50, 16}, std::pair{4, 16}, std::pair{50, 24}}) {
      const auto queries = sizes.first, width = sizes.second;
      CAPTURE(queries);
      CAPTURE(width);
      const Shape shape{2, static_cast<std::size_t>(queries), static_cast<std::size_t>(width)};
      AttentionRequest request = random_attention(random, shape, {2, 400, shape[2]}, 16);
      request.scale = -0.7;
      request.softcap = 3.0;
      check_both_types(request);
      request.softcap = 1000.0;
      request.mask.bias = random.normal({shape[1], 400});
      check_both_types(request);
      std::vector<double> bias = numbers(request.mask.bias);
      for (std::size_t i = 0; i < bias.size(); i += 3) bias[i] = -HUGE_VAL;
      for (std::size_t i = 800; i < 1200; ++i) bias[i] = -HUGE_VAL;
      request.mask.bias = attn::testing::doubles({shape[1], 400}, std::move(bias));
      check_both_types(request);
      request.scale = 0.0;
      compare_by<attn::DotProduct>(request);
      check_both_types(request);
    }
  });
}

TEST_CASE("the fast path gives the same bits for any number of threads") {
  on_every_target([] {
    RandomRequests random(10);
    // Wide and narrow heads, many of them and few queries.
    for (const Shape& shape : {Shape{1, 1, 400, 20}, Shape{1, 1, 400, 36}, Shape{3, 4, 130, 36},
                               Shape{1, 1, 400, 16}, Shape{3, 4, 130, 5}, Shape{1, 2, 3, 20}}) {
      const Shape keys{shape[0], shape[1], shape[2] == 3 ? 4100 : shape[2], shape[3]};
      AttentionRequest request = random_attention(random, shape, keys, 7);
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
  const AttentionRequest plain = random_attention(random, {3, 2}, {5, 2}, 2);
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
  CHECK(supported(rounded(additive, DType::float64)));
  AttentionRequest scores = random.request(Kind::softmax, {1, 2, 2}, {1, 2, 2});
  scores.stages = false;
  CHECK_FALSE(supported(scores));
  AttentionRequest dropout = plain;
  dropout.dropout = attn::Dropout{0.5, {}};
  CHECK_FALSE(supported(dropout));
}

TEST_CASE("attend() takes the fast path for large sizes and leaves out weights nobody wants") {
  RandomRequests random(12);
  AttentionRequest request = random_attention(random, {2, 300, 16}, {2, 300, 16}, 16);
  request.weights = false;
  const AttentionResult result = attn::attend(request);
  CHECK(!result.weights);
  CHECK(same_bits(result.output, fast(request)->output));
}
