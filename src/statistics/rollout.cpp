#include "statistics/rollout.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "attention/linear.hpp"
#include "support/parallel_for.hpp"

namespace attn {
namespace {

template <class T>
T fused(T sum, T number, RolloutOptions::Fusion fusion) {
  switch (fusion) {
    case RolloutOptions::Fusion::max:
      return std::max(sum, number);
    case RolloutOptions::Fusion::min:
      return std::min(sum, number);
    case RolloutOptions::Fusion::mean:
      break;
  }
  return sum + number;
}

// Sets the smallest so many numbers of a row to zero; of equal ones the first.
template <class T>
void discard(std::span<T> row, std::size_t count) {
  std::vector<std::size_t> order(row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
      [&](std::size_t a, std::size_t b) { return row[a] != row[b] ? row[a] < row[b] : a < b; });
  for (std::size_t i = 0; i < count; ++i) row[order[i]] = 0;
}

}  // namespace

Rollout::Rollout(const RolloutOptions& options, std::vector<std::size_t> lengths,
                 std::size_t threads)
    : options_(options),
      lengths_(std::move(lengths)),
      threads_(threads),
      transposed_(lengths_.size()) {}

// Â of a sample, [n,n].
template <class T>
Tensor Rollout::joined_layer(const Tensor& maps, std::size_t sample) const {
  const std::size_t heads = maps.shape()[1], length = maps.shape()[2], n = lengths_[sample];
  const std::span<const T> numbers = maps.values<T>();
  const T residual = static_cast<T>(options_.residual);
  const auto left_out = static_cast<std::size_t>(options_.discarded * static_cast<double>(n));
  std::vector<T> joined(n * n);
  parallel_for(n, threads_, [&](std::size_t i) {
    const std::span<T> row(joined.data() + i * n, n);
    // 1. One map of all heads.
    for (std::size_t h = 0; h < heads; ++h) {
      const T* from = numbers.data() + ((sample * heads + h) * length + i) * length;
      for (std::size_t j = 0; j < n; ++j) {
        row[j] = h == 0 ? from[j] : fused(row[j], from[j], options_.fusion);
      }
    }
    const T share =
        options_.fusion == RolloutOptions::Fusion::mean ? T(1) / static_cast<T>(heads) : T(1);
    for (T& number : row) number *= share;
    // 2. Without its smallest weights.
    if (left_out > 0) discard(row, left_out);
    // 3. Beside the residual, rows summing to one.
    for (T& number : row) number *= 1 - residual;
    row[i] += residual;
    const T sum = std::accumulate(row.begin(), row.end(), T(0));
    if (sum > 0) {
      for (T& number : row) number /= sum;
    }
  });
  return {{n, n}, std::move(joined)};
}

Tensor Rollout::next(const Tensor& maps) {
  const std::size_t length = maps.shape()[2];
  const auto all = [&]<class T>(const T*) {
    std::vector<T> rollout(lengths_.size() * length * length);
    for (std::size_t b = 0; b < lengths_.size(); ++b) {
      const std::size_t n = lengths_[b];
      const Tensor layer = joined_layer<T>(maps, b);
      Tensor& transposed = transposed_[b];
      if (transposed) {
        transposed = apply(Linear{layer, {}}, transposed, threads_);  // R_{l−1}ᵀ Âᵀ
      } else {
        std::vector<T> first(n * n);
        const std::span<const T> from = layer.values<T>();
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t j = 0; j < n; ++j) first[j * n + i] = from[i * n + j];
        }
        transposed = Tensor({n, n}, std::move(first));
      }
      const std::span<const T> from = transposed.values<T>();
      for (std::size_t i = 0; i < n; ++i) {
        T* to = rollout.data() + (b * length + i) * length;
        for (std::size_t j = 0; j < n; ++j) to[j] = from[j * n + i];
      }
    }
    return Tensor({lengths_.size(), length, length}, std::move(rollout));
  };
  return maps.dtype() == DType::float32 ? all(static_cast<const float*>(nullptr))
                                        : all(static_cast<const double*>(nullptr));
}

}  // namespace attn
