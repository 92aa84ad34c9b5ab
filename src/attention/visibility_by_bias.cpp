#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "attention/visibility.hpp"
#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// A weight below it counts as 0. Vector code may flush smaller ones to it.
double smallest_weight(DType dtype) {
  constexpr double of_float16 = 0x1p-24;
  if (dtype == DType::float64) return std::numeric_limits<double>::min();
  return dtype == DType::float16 ? of_float16 : std::numeric_limits<float>::min();
}

/// The least and the largest finite number of a part of a bias.
struct FiniteRange {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
};

template <class T>
FiniteRange range_of(std::span<const T> numbers) {
  // Without branches, for which compilers use vectors; −∞ and NaN are no least number, ∞ no
  // largest.
  T least = std::numeric_limits<T>::max(), most = std::numeric_limits<T>::lowest();
  for (const T number : numbers) {
    least = number < least && number >= std::numeric_limits<T>::lowest() ? number : least;
    most = number > most && number <= std::numeric_limits<T>::max() ? number : most;
  }
  return least > most ? FiniteRange{} : FiniteRange{least, most};
}

// Whether finite numbers of the bias lie so far apart.
bool lies_apart(const Tensor& bias, double distance) {
  return with_floats(bias, [&]<class T>(std::span<const T> numbers) {
    constexpr std::size_t block = std::size_t{1} << 16U;
    std::vector<FiniteRange> ranges((numbers.size() + block - 1) / block);
    parallel_for(ranges.size(), 0, [&](std::size_t at) {
      const std::size_t first = at * block;
      ranges[at] = range_of(numbers.subspan(first, std::min(block, numbers.size() - first)));
    });
    FiniteRange all;
    for (const FiniteRange& range : ranges)
      all = {std::min(all.least, range.least), std::max(all.most, range.most)};
    return all.most - all.least >= distance;
  });
}

}  // namespace

Tensor hidden_in_effect(const Mask& mask, const Geometry& geometry, const Tensor& weights,
                        DType dtype) {
  if (!mask.bias || !weights || is_shape_only(weights)) return {};
  const double smallest = smallest_weight(dtype), distance = -std::log(smallest) / 2;
  const bool floats = mask.bias.dtype() == DType::float32 || mask.bias.dtype() == DType::float64;
  if (!lies_apart(floats ? mask.bias : mask.bias.converted(DType::float64), distance)) return {};
  // `where` may compare rows, which are not there, and hides by itself.
  Mask without_where = mask;
  without_where.where = {};
  const Visibility visibility(without_where, geometry, {});
  std::vector<std::uint8_t> hidden(weights.size(), 0);
  std::atomic<bool> any = false;
  const std::size_t keys = geometry.keys, rows = weights.size() / keys;
  with_floats(weights, [&]<class T>(std::span<const T> numbers) {
    parallel_for(rows, 0, [&](std::size_t row) {
      const std::size_t query = row % geometry.queries;
      const std::size_t head = row / geometry.queries % geometry.heads;
      const std::size_t batch = row / geometry.queries / geometry.heads;
      std::vector<std::uint8_t> seen(keys);
      visibility.see(batch, head, query, seen);
      double most = -std::numeric_limits<double>::infinity();
      for (std::size_t j = 0; j < keys; ++j)
        if (seen[j]) most = std::max(most, visibility.bias(batch, head, query, j));
      for (std::size_t j = 0; j < keys; ++j) {
        const bool vanishes = seen[j] && numbers[row * keys + j] < smallest;
        if (!vanishes || visibility.bias(batch, head, query, j) > most - distance) continue;
        hidden[row * keys + j] = 1;
        any = true;
      }
    });
  });
  return any ? Tensor(weights.shape(), std::move(hidden)) : Tensor();
}

}  // namespace attn
