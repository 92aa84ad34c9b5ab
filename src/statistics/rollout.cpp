#include "statistics/rollout.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

#include "attention/linear.hpp"
#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"

namespace attn {
namespace {

// Puts the maps of all heads of a row, `stride` numbers apart, together as one.
template <class T>
void fuse(const T* from, std::size_t heads, std::size_t stride, RolloutOptions::Fusion fusion,
          std::span<T> row) {
  std::copy_n(from, row.size(), row.data());
  for (std::size_t h = 1; h < heads; ++h) {
    const T* own = from + h * stride;
    switch (fusion) {
      case RolloutOptions::Fusion::max:
        for (std::size_t j = 0; j < row.size(); ++j) row[j] = std::max(row[j], own[j]);
        break;
      case RolloutOptions::Fusion::min:
        for (std::size_t j = 0; j < row.size(); ++j) row[j] = std::min(row[j], own[j]);
        break;
      case RolloutOptions::Fusion::mean:
        for (std::size_t j = 0; j < row.size(); ++j) row[j] += own[j];
        break;
    }
  }
}

// a·b, both [n,n]: b's columns are rows of a weight that stand side by side.
template <class T>
Tensor product(const Tensor& a, const Tensor& b, std::size_t threads) {
  const std::size_t n = b.shape()[0];
  const T* numbers = b.values<T>().data();
  MatrixRows columns;
  columns.rows = columns.columns = n;
  columns.side_by_side = true;
  if constexpr (std::is_same_v<T, float>) {
    columns.in_memory = numbers;
    columns.stride = n;
  } else {
    columns.doubles = [=](std::size_t first, std::size_t count, std::size_t stride, double* to) {
      for (std::size_t k = 0; k < n; ++k) {
        std::copy_n(numbers + k * n + first, count, to + k * stride);
      }
    };
  }
  const Product one{std::move(columns), {}};
  return apply(std::span(&one, 1), a, threads).front();
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
      rollouts_(lengths_.size()) {}

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
    fuse(numbers.data() + (sample * heads * length + i) * length, heads, length * length,
         options_.fusion, row);
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
  return with_float_type(maps.dtype(), [&]<class T>() {
    for (std::size_t b = 0; b < lengths_.size(); ++b) {
      const Tensor layer = joined_layer<T>(maps, b);
      Tensor& rollout = rollouts_[b];
      rollout = rollout ? product<T>(layer, rollout, threads_) : layer;
    }
    if (lengths_ == std::vector{length}) return rollouts_[0].reshaped({1, length, length});
    std::vector<T> padded(lengths_.size() * length * length);
    for (std::size_t b = 0; b < lengths_.size(); ++b) {
      const std::size_t n = lengths_[b];
      for (std::size_t i = 0; i < n; ++i) {
        std::copy_n(rollouts_[b].values<T>().data() + i * n, n,
                    padded.data() + (b * length + i) * length);
      }
    }
    return Tensor({lengths_.size(), length, length}, std::move(padded));
  });
}

}  // namespace attn
