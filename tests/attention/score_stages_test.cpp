#include "attention/score_stages.hpp"

#include <string>

#include <doctest/doctest.h>

#include "attention/random_request.hpp"

namespace attn {
namespace {

using testing::difference;
using testing::RandomRequests;

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

}  // namespace attn
