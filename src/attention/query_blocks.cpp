#include "attention/query_blocks.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "attention/geometry.hpp"
#include "attention/head_preparation.hpp"
#include "attention/visibility.hpp"
#include "tensor/tensor_part.hpp"

namespace attn {
namespace {

// Rows of [1,L,D] as [1,count,D], shared.
Tensor rows_between(const Tensor& x, std::size_t first, std::size_t end) {
  const std::size_t width = x.shape()[2];
  return rows_of(x.reshaped({x.shape()[1], width}), first, end - first)
      .reshaped({1, end - first, width});
}

// The first rows of [1,L,G·d] as a past [1,G,count,d].
template <class T>
Tensor past_of(const Tensor& x, std::size_t count, std::size_t heads) {
  const std::size_t row = x.shape()[2], width = row / heads;
  const std::span<const T> from = x.values<T>();
  std::vector<T> past(count * row);
  for (std::size_t g = 0; g < heads; ++g) {
    for (std::size_t i = 0; i < count; ++i) {
      std::copy_n(from.data() + i * row + g * width, width, past.data() + (g * count + i) * width);
    }
  }
  return {{1, heads, count, width}, std::move(past)};
}

Tensor past_of(const Tensor& x, std::size_t count, std::size_t heads) {
  return x.dtype() == DType::float32 ? past_of<float>(x, count, heads)
                                     : past_of<double>(x, count, heads);
}

template <class T>
Tensor below_each_other(const std::vector<Tensor>& blocks, std::size_t length) {
  const std::size_t width = blocks[0].shape()[2];
  std::vector<T> all;
  all.reserve(length * width);
  for (const Tensor& block : blocks) {
    const auto numbers = block.values<T>();
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return {{1, length, width}, std::move(all)};
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
  return request.dtype == DType::float32 ? below_each_other<float>(outputs, length)
                                         : below_each_other<double>(outputs, length);
}

}  // namespace attn
