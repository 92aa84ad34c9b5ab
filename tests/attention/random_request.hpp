#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <variant>
#include <vector>

#include "attn/attention.hpp"
#include "attn/spec.hpp"
#include "attn/tensor.hpp"

#include "attention/geometry.hpp"
#include "support/overloaded.hpp"

namespace attn::testing {

/// The elements as doubles; none of an absent tensor.
inline std::vector<double> numbers(const Tensor& tensor) {
  if (!tensor) return {};
  const Tensor doubles = tensor.converted(DType::float64);
  const auto span = doubles.values<double>();
  return {span.begin(), span.end()};
}

inline Tensor doubles(Shape shape, std::vector<double> elements) {
  return {std::move(shape), std::move(elements)};
}

inline Tensor booleans(Shape shape, std::vector<std::uint8_t> elements) {
  return {std::move(shape), std::move(elements)};
}

/// Whether both have the same numbers to the bit, NaN being equal to NaN.
inline bool same_bits(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = numbers(a), y = numbers(b);
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         std::equal(x.begin(), x.end(), y.begin(), y.end(), [](double p, double q) {
           return (std::isnan(p) && std::isnan(q)) ||
                  (p == q && std::signbit(p) == std::signbit(q));
         });
}

/// The largest absolute difference of two tensors of one shape; infinite if the shapes differ.
inline double difference(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return HUGE_VAL;
  const std::vector<double> x = numbers(a), y = numbers(b);
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] != y[i]) largest = std::max(largest, std::abs(x[i] - y[i]));
  }
  return largest;
}

/// The rows of a tensor's second last axis, with row `order[i]` at place i.
inline Tensor with_rows(const Tensor& tensor, const std::vector<std::size_t>& order) {
  const std::size_t length = tensor.shape()[tensor.rank() - 2], width = tensor.shape().back();
  const std::vector<double> from = numbers(tensor);
  Shape shape = tensor.shape();
  shape[shape.size() - 2] = order.size();
  std::vector<double> to;
  for (std::size_t first = 0; first < from.size(); first += length * width) {
    for (const std::size_t row : order) {
      const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first + row * width);
      to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
    }
  }
  return doubles(std::move(shape), std::move(to));
}

/// The columns of the last axis, with column `order[i]` at place i.
inline Tensor with_columns(const Tensor& tensor, const std::vector<std::size_t>& order) {
  const std::size_t width = tensor.shape().back();
  const std::vector<double> from = numbers(tensor);
  Shape shape = tensor.shape();
  shape.back() = order.size();
  std::vector<double> to;
  for (std::size_t first = 0; first < from.size(); first += width) {
    for (const std::size_t column : order) to.push_back(from[first + column]);
  }
  return doubles(std::move(shape), std::move(to));
}

/// The sequences of a request whose score is not given.
inline Sequences& sequences(AttentionRequest& request) {
  return *sequences_of(request.score);
}
inline const Sequences& sequences(const AttentionRequest& request) {
  return *sequences_of(request.score);
}

/// The value as it was given.
inline Tensor& value_in(AttentionRequest& request) {
  Sequences* const compared = sequences_of(request.score);
  return compared ? compared->value : std::get<GivenScores>(request.score).value;
}

/// The sequences with another score, whose parameters are still missing.
template <class Alternative>
Alternative& compare_by(AttentionRequest& request) {
  return request.score.emplace<Alternative>(Alternative{Sequences(sequences(request))});
}

/// The kinds that attend() computes.
inline std::vector<KindInfo> attended_kinds() {
  std::vector<KindInfo> result;
  for (const KindInfo& row : kinds()) {
    if (row.family == Family::given_scores || row.family == Family::score) result.push_back(row);
  }
  return result;
}

/// Small random attentions in float64.
class RandomRequests {
 public:
  explicit RandomRequests(unsigned seed) : random_(seed) {}

  std::size_t number(std::size_t first, std::size_t last) {
    return std::uniform_int_distribution<std::size_t>(first, last)(random_);
  }

  Tensor normal(Shape shape) {
    std::vector<double> elements(element_count(shape));
    std::normal_distribution<double> distribution;
    for (double& element : elements) element = distribution(random_);
    return doubles(std::move(shape), std::move(elements));
  }

  Tensor flags(Shape shape, double probability) {
    std::vector<std::uint8_t> elements(element_count(shape));
    std::bernoulli_distribution distribution(probability);
    for (std::uint8_t& element : elements) element = distribution(random_);
    return booleans(std::move(shape), std::move(elements));
  }

  std::vector<std::size_t> permutation(std::size_t size) {
    std::vector<std::size_t> order(size);
    for (std::size_t i = 0; i < size; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

  /// [B,H,L,D] with all tensors given, of random sizes, and every stage asked for.
  AttentionRequest request(Kind kind) {
    const std::size_t batch = number(1, 3), kv_heads = number(1, 2),
                      heads = kv_heads * number(1, 2);
    const std::size_t queries = number(1, 8), keys = number(1, 9), width = number(1, 6);
    return request(kind, {batch, heads, queries, width}, {batch, kv_heads, keys, width});
  }

  AttentionRequest request(Kind kind, const Shape& query, const Shape& key) {
    AttentionRequest result;
    result.score = score_of(kind);
    result.dtype = DType::float64;
    result.stages = true;
    result.threads = 1;
    Shape value = key;
    value.back() = number(1, 6);
    value_in(result) = normal(value);
    std::visit(Overloaded{[&](GivenScores& given) {
                            Shape scores = query;
                            scores.back() = key[key.size() - 2];
                            given.scores = normal(scores);
                          },
                          [&](Sequences& compared) {
                            compared.query = normal(query);
                            compared.key = normal(key);
                          }},
               result.score);
    give_parameters(result, query.back(), key.back());
    return result;
  }

  /// Those of the kind, as its row in the table has them.
  void give_parameters(AttentionRequest& request, std::size_t query_width, std::size_t key_width) {
    const auto parameters = info(kind_of(request.score)).parameters;
    if (parameters.empty()) return;
    const std::size_t hidden = number(1, 5);
    const std::vector<Tensor*> tensors = parameters_of(request.score);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      *tensors[i] = normal(shape_of(parameters[i], query_width, key_width, hidden));
    }
  }

 private:
  std::mt19937 random_;
};

}  // namespace attn::testing
