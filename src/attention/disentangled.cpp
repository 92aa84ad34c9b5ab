#include "attention/disentangled.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

#include "attention/geometry.hpp"
#include "attention/head_rows.hpp"
#include "attention/linear.hpp"
#include "support/parallel_for.hpp"

namespace attn {

std::size_t DistanceRows::row(std::int64_t distance) const {
  const auto middle = static_cast<std::int64_t>(buckets / 2);
  const std::int64_t size = std::abs(distance);
  std::int64_t place = distance;
  if (buckets > 0 && size > middle) {
    const auto half = static_cast<double>(middle);
    const double share = std::log(static_cast<double>(size) / half) /
                         std::log((static_cast<double>(max_distance) - 1) / half);
    // A bucket beyond all rows where max_distance leaves no room for buckets.
    const double bucket = std::clamp(std::ceil(share * (half - 1)), -0x1p53, 0x1p53);
    place = static_cast<std::int64_t>(bucket) + middle;
    if (distance < 0) place = -place;
  }
  const auto own = static_cast<std::int64_t>(span);
  return static_cast<std::size_t>(std::clamp<std::int64_t>(place + own, 0, 2 * own - 1));
}

namespace {

// Rows `first` … `first + count` − 1 of one head, [count,d].
Tensor head_of(const HeadRows<double>& rows, std::size_t batch, std::size_t head, std::size_t first,
               std::size_t count) {
  std::vector<double> numbers;
  numbers.reserve(count * rows.width());
  for (std::size_t i = first; i < first + count; ++i) {
    const auto row = rows(batch, head, i);
    numbers.insert(numbers.end(), row.begin(), row.end());
  }
  return {{count, rows.width()}, std::move(numbers)};
}

}  // namespace

Tensor disentangled_bias(const DisentangledTerms& terms, const AttentionRequest& request) {
  const Geometry geometry = check_geometry(request);
  const Sequences& own = std::get<ScaledDotProduct>(request.score);
  const std::size_t heads = geometry.heads, queries = geometry.queries, keys = geometry.keys;
  const HeadRows<double> query_rows(own.query, heads), key_rows(own.key_or_query(), heads),
      distance_keys(terms.keys, heads), distance_queries(terms.queries, heads);
  const double scale = scale_of(request, geometry);

  // The row of query i and key j stands at i + keys − 1 − j. Rows grow with the distance.
  std::vector<std::size_t> rows;
  for (std::size_t n = 0; n < queries + keys - 1; ++n) {
    rows.push_back(
        terms.distances.row(static_cast<std::int64_t>(n + 1) - static_cast<std::int64_t>(keys)));
  }
  const std::size_t first = rows.front(), count = rows.back() - first + 1;
  for (std::size_t& row : rows) row -= first;

  std::vector<double> bias(geometry.batch * heads * queries * keys, 0.0);
  parallel_for(geometry.batch * heads, request.threads, [&](std::size_t task) {
    const std::size_t b = task / heads, h = task % heads;
    double* const to = bias.data() + task * queries * keys;
    const auto add = [&](const HeadRows<double>& of, std::size_t length, const HeadRows<double>& by,
                         const auto& at) {
      if (by.length() == 0) return;
      const Tensor all =
          apply(Linear{head_of(by, 0, h, first, count), {}}, head_of(of, b, h, 0, length), 1);
      const auto products = all.values<double>();
      for (std::size_t i = 0; i < queries; ++i) {
        for (std::size_t j = 0; j < keys; ++j) {
          to[i * keys + j] += scale * products[at(i, j) * count + rows[i + keys - 1 - j]];
        }
      }
    };
    add(query_rows, queries, distance_keys, [](std::size_t i, std::size_t) { return i; });
    add(key_rows, keys, distance_queries, [](std::size_t, std::size_t j) { return j; });
  });
  return Tensor({geometry.batch, heads, queries, keys}, std::move(bias))
      .converted(own.query.dtype());
}

}  // namespace attn
