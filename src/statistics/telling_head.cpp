#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "statistics/head_values.hpp"
#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"

namespace attn {
namespace {

/// Rows of a head that are looked at: their weights, and 1 where a key is seen, else 0.
struct LookedAt {
  std::vector<std::size_t> queries;
  std::size_t keys = 0;
  std::vector<double> weights, seen;  ///< [rows,keys]
};

// Half the sum of |w − m·Σw/Σm| over the keys that a row sees, summed over the rows. m is the mean
// of the weights that have one number: key j of query i has the number j + shift(i).
template <class Shift>
double unexplained(const LookedAt& map, std::size_t numbers, const Shift& shift) {
  std::vector<double> means(numbers), counts(numbers);
  const auto each_row = [&](const auto& use) {
    for (std::size_t row = 0; row < map.queries.size(); ++row) {
      const std::size_t at = row * map.keys, from = shift(map.queries[row]);
      use(map.weights.data() + at, map.seen.data() + at, from);
    }
  };
  each_row([&](const double* weights, const double* seen, std::size_t from) {
    double *const sums = means.data() + from, *const number = counts.data() + from;
    for (std::size_t j = 0; j < map.keys; ++j) {
      sums[j] += weights[j] * seen[j];
      number[j] += seen[j];
    }
  });
  for (std::size_t i = 0; i < numbers; ++i) means[i] /= std::max(counts[i], 1.0);
  double sum = 0;
  each_row([&](const double* weights, const double* seen, std::size_t from) {
    const double* const mean = means.data() + from;
    double of_row = 0, of_means = 0;
    for (std::size_t j = 0; j < map.keys; ++j) {
      of_row += weights[j] * seen[j];
      of_means += mean[j] * seen[j];
    }
    if (!(of_means > 0)) return;
    const double scale = of_row / of_means;
    for (std::size_t j = 0; j < map.keys; ++j) {
      sum += seen[j] * std::abs(weights[j] - scale * mean[j]);
    }
  });
  return sum / 2;
}

double told_by(const LookedAt& map, std::size_t queries, bool same_positions) {
  const double by_key = unexplained(map, map.keys, [](std::size_t) { return std::size_t{0}; });
  if (!same_positions) return by_key;
  return std::min(by_key, unexplained(map, queries + map.keys,
                                      [&](std::size_t query) { return queries - query; }));
}

}  // namespace

std::size_t telling_head(const Tensor& weights, const Tensor& allowed, std::size_t sample,
                         bool same_positions, std::size_t threads) {
  constexpr std::size_t most_rows = 32;
  const Shape& shape = weights.shape();
  const std::size_t heads = shape[1], queries = shape[2], keys = shape[3];
  LookedAt map;
  map.keys = keys;
  const std::size_t count = std::min(queries, most_rows);
  for (std::size_t row = 0; row < count; ++row) map.queries.push_back(row * queries / count);
  map.seen.assign(count * keys, 1);
  if (allowed) {
    const auto seen = allowed.values<std::uint8_t>();
    const std::size_t first = sample * allowed.shape()[1] * queries;
    for (std::size_t row = 0; row < count; ++row) {
      std::ranges::copy(seen.subspan((first + map.queries[row]) * keys, keys),
                        map.seen.begin() + static_cast<std::ptrdiff_t>(row * keys));
    }
  }
  std::vector<double> told(heads);
  parallel_for(heads, threads, [&](std::size_t head) {
    LookedAt own = map;
    own.weights.resize(count * keys);
    with_floats(weights, [&](const auto numbers) {
      const std::size_t first = (sample * heads + head) * queries;
      for (std::size_t row = 0; row < count; ++row) {
        std::ranges::copy(numbers.subspan((first + map.queries[row]) * keys, keys),
                          own.weights.begin() + static_cast<std::ptrdiff_t>(row * keys));
      }
    });
    told[head] = told_by(own, queries, same_positions);
  });
  std::size_t best = 0;
  double most = 0;
  for (std::size_t head = 0; head < heads; ++head) {
    if (!(told[head] > most)) continue;
    most = told[head];
    best = head;
  }
  return best;
}

}  // namespace attn
