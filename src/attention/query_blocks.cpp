#include "attention/query_blocks.hpp"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "attention/geometry.hpp"
#include "attention/head_preparation.hpp"
#include "attention/visibility.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// Rows of [1,L,D] as [1,count,D], shared.
Tensor rows_between(const Tensor& x, std::size_t first, std::size_t end) {
  const std::size_t width = x.shape()[2];
  return rows_of(x.reshaped({x.shape()[1], width}), first, end - first)
      .reshaped({1, end - first, width});
}

// The first rows of [1,L,G·d] as a past [1,G,count,d].
Tensor past_of(const Tensor& x, std::size_t count, std::size_t heads) {
  const std::size_t width = x.shape()[2] / heads;
  return permuted(rows_between(x, 0, count).reshaped({1, count, heads, width}), {0, 2, 1, 3});
}

}  // namespace

Tensor attend_by_queries(const AttentionRequest& request, std::size_t queries_at_a_time,
                         const TakeRows& take) {
  const Geometry geometry = check_geometry(request);
  const Visibility visibility(request.mask, geometry);
  AttentionRequest part = request;
  part.weights = true;
  part.rotary.reset();
  part.query_norm.reset();
  part.key_norm.reset();
  ScaledDotProduct all = std::get<ScaledDotProduct>(request.score);
  if (const HeadPreparation preparation(request, geometry, visibility); preparation) {
    static_cast<Sequences&>(all) = preparation.prepared(all, DType::float64);
  }
  const std::size_t length = geometry.queries, groups = geometry.kv_heads;
  std::vector<Tensor> outputs;
  for (std::size_t first = 0; first < length; first += queries_at_a_time) {
    const std::size_t end = std::min(length, first + queries_at_a_time);
    // Keys before the block stand as a past, so that its queries are at their own positions.
    ScaledDotProduct& score = part.score.emplace<ScaledDotProduct>(all);
    score.query = rows_between(all.query, first, end);
    score.key = rows_between(all.key, first, length);
    score.value = rows_between(all.value, first, length);
    if (first > 0) {
      score.past_key = past_of(all.key, first, groups);
      score.past_value = past_of(all.value, first, groups);
    }
    const AttentionResult result = attend(part);
    take(first, result.weights);
    outputs.push_back(result.output);
  }
  return concatenated(outputs, 1);
}

}  // namespace attn
