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
using attn::testing::exact;
using attn::testing::fast;
using attn::testing::near;
using attn::testing::numbers;
using attn::testing::on_every_target;
using attn::testing::RandomRequests;
using attn::testing::sequences;

// With and without the weights, and reduced to bins, in both precisions.
void check_as_reference(AttentionRequest request) {
  request.stages = false;
  const AttentionResult expected = exact(request);
  AttentionRequest pooled_request = request;
  pooled_request.weights = false;
  pooled_request.pool = attn::Pooling{7, attn::Pooling::Reduction::mean};
  const AttentionResult pooled = exact(pooled_request);
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const bool weights : {true, false}) {
      CAPTURE(weights);
      request.dtype = dtype;
      request.weights = weights;
      const std::optional<AttentionResult> result = fast(request);
      REQUIRE(result);
      CHECK(near(result->output, expected.output, 1));
      if (weights) CHECK(near(result->weights, expected.weights, 1e-30));
      CHECK(result->empty_rows == expected.empty_rows);
    }
    pooled_request.dtype = dtype;
    const std::optional<AttentionResult> result = fast(pooled_request);
    REQUIRE(result);
    CHECK(near(result->pooled, pooled.pooled, 1e-30));
  }
}

// Single precision numbers, so that both ways compute from the same ones.
Tensor singles(const Tensor& tensor) {
  return tensor.converted(DType::float32);
}

// Sizes of [B,H,Lq,D] and [B,G,Lk,D], with a past of three keys.
AttentionRequest attention(RandomRequests& random, std::size_t queries, std::size_t keys,
                           std::size_t width) {
  AttentionRequest request;
  request.threads = 2;
  sequences(request).query = singles(random.normal({2, 4, queries, width}));
  sequences(request).key = singles(random.normal({2, 2, keys, width}));
  sequences(request).value = singles(random.normal({2, 2, keys, width + 1}));
  sequences(request).past_key = singles(random.normal({2, 2, 3, width}));
  sequences(request).past_value = singles(random.normal({2, 2, 3, width + 1}));
  return request;
}

struct Sizes {
  std::size_t queries, keys, width;
};

// Each kernel's: few queries, narrow heads, blocks, more keys than a block and than one strip.
const std::vector<Sizes> all_sizes{{2, 150, 20}, {40, 45, 6}, {37, 61, 24}, {150, 410, 40}};

TEST_CASE("every kernel adds what distances add, as the reference does") {
  on_every_target([] {
    RandomRequests random(181);
    for (const Sizes& sizes : all_sizes) {
      CAPTURE(sizes.queries);
      AttentionRequest request = attention(random, sizes.queries, sizes.keys, sizes.width);
      request.mask.alibi = attn::Alibi{{}, true};
      check_as_reference(request);
      request.mask.alibi = attn::Alibi{{0.3, -0.01, 2, 0.125}, false};
      request.relative_bias =
          attn::RelativeBias{singles(random.normal({12, 4})), 12, 30, random.number(0, 1) == 1};
      request.softcap = 3;
      check_as_reference(request);
      // Where the queries stand differs between the samples.
      request.mask.causal = true;
      request.mask.align = attn::Alignment::lower_right;
      request.mask.valid_lens =
          Tensor({2}, std::vector<std::int64_t>{static_cast<std::int64_t>(sizes.keys),
                                                static_cast<std::int64_t>(sizes.keys / 2)});
      check_as_reference(request);
      request.mask.bias = random.normal({sizes.queries, sizes.keys + 3});
      check_as_reference(request);
    }
  });
}

TEST_CASE("every kernel adds a sink to the sum of each row, but to that of no empty one") {
  on_every_target([] {
    RandomRequests random(182);
    for (const Sizes& sizes : all_sizes) {
      CAPTURE(sizes.queries);
      AttentionRequest request = attention(random, sizes.queries, sizes.keys, sizes.width);
      // Far below, among, above and far above the scores.
      request.sinks = attn::testing::doubles({4}, {-90, 0.5, 4, 60});
      check_as_reference(request);
      request.softcap = 2;
      request.mask.valid_lens = Tensor({2}, std::vector<std::int64_t>{0, 2});
      check_as_reference(request);
    }
  });
}

TEST_CASE("queries and keys are normed and turned before every kernel, a past is not") {
  on_every_target([] {
    RandomRequests random(183);
    for (const Sizes& sizes : all_sizes) {
      CAPTURE(sizes.queries);
      AttentionRequest request = attention(random, sizes.queries, sizes.keys, sizes.width);
      request.rotary.emplace();
      request.rotary->width = 2 * random.number(1, sizes.width / 2);
      request.rotary->interleaved = random.number(0, 1) == 1;
      check_as_reference(request);
      request.query_norm = attn::Norm{random.normal({sizes.width}), {}, attn::NormKind::rms};
      request.key_norm = attn::Norm{random.normal({sizes.width}), random.normal({sizes.width}),
                                    attn::NormKind::layer};
      request.mask.causal = true;
      check_as_reference(request);
    }
  });
}

}  // namespace
