#include "layers/alternating_updates.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "layers/causal_convolution.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// tanh(W norm(x) / D), [..,L,P].
Tensor routed(const AlternatingUpdates& updates, const Tensor& x, double eps, std::size_t threads) {
  const double width = static_cast<double>(x.shape().back());
  const Tensor normed = mapped(
      threads, [=](double number) { return number / width; },
      apply(updates.router_norm, x, eps, threads));
  return mapped(
      threads, [](double number) { return std::tanh(number); },
      apply(updates.router, normed, threads));
}

// x + Σ_m c_m y_m for rows [..,L,D]; the coefficients of a row stand in its own row of `factors`
// [..,L,K], from `first` on.
Tensor moved_by(const Tensor& x, std::span<const Tensor> y, const Tensor& factors,
                std::size_t first) {
  const std::size_t width = x.shape().back(), count = factors.shape().back();
  return with_floats(x, [&]<class T>(std::span<const T> from) {
    std::vector<T> sum(from.begin(), from.end());
    for (std::size_t m = 0; m < y.size(); ++m) {
      const std::span<const T> added = y[m].values<T>();
      const T* by = factors.values<T>().data() + first + m;
      for (std::size_t row = 0; row < sum.size(); row += width, by += count) {
        for (std::size_t k = row; k < row + width; ++k) sum[k] += *by * added[k];
      }
    }
    return Tensor(x.shape(), std::move(sum));
  });
}

// Root mean squares of the rows of x [..,L,D], of squares of at least `least`.
std::vector<double> magnitudes(const Tensor& x, double least) {
  const std::size_t width = x.shape().back();
  const std::vector<double> numbers = doubles_of(x);
  std::vector<double> all(numbers.size() / width);
  for (std::size_t i = 0; i < numbers.size(); ++i) all[i / width] += numbers[i] * numbers[i];
  for (double& sum : all) sum = std::sqrt(std::max(sum / static_cast<double>(width), least));
  return all;
}

// x with rows as long as those of `as`.
Tensor as_long(const Tensor& x, const Tensor& as) {
  constexpr double least = 1e-5;  // of the library, against a division by zero
  const std::vector<double> own = magnitudes(x, least), wanted = magnitudes(as, 0);
  const std::size_t width = x.shape().back();
  return with_floats(x, [&]<class T>(std::span<const T> from) {
    std::vector<T> y(from.begin(), from.end());
    for (std::size_t i = 0; i < y.size(); ++i)
      y[i] = static_cast<T>(static_cast<double>(y[i]) * wanted[i / width] / own[i / width]);
    return Tensor(x.shape(), std::move(y));
  });
}

}  // namespace

std::vector<Tensor> apart(const Tensor& streams, std::size_t count) {
  Shape shape = streams.shape();
  const std::size_t row = shape.back(), width = row / count;
  shape.back() = width;
  std::vector<Tensor> all;
  for (std::size_t n = 0; n < count; ++n) {
    all.push_back(with_floats(streams, [&]<class T>(std::span<const T> from) {
      std::vector<T> own;
      own.reserve(from.size() / count);
      for (std::size_t at = n * width; at < from.size(); at += row) {
        own.insert(own.end(), from.begin() + static_cast<std::ptrdiff_t>(at),
                   from.begin() + static_cast<std::ptrdiff_t>(at + width));
      }
      return Tensor(shape, std::move(own));
    }));
  }
  return all;
}

Tensor side_by_side(const std::vector<Tensor>& streams) {
  Shape shape = streams.front().shape();
  const std::size_t width = shape.back();
  shape.back() *= streams.size();
  return with_floats(streams.front(), [&]<class T>(std::span<const T> first) {
    std::vector<T> all;
    all.reserve(first.size() * streams.size());
    for (std::size_t at = 0; at < first.size(); at += width) {
      for (const Tensor& stream : streams) {
        const std::span<const T> row = stream.values<T>().subspan(at, width);
        all.insert(all.end(), row.begin(), row.end());
      }
    }
    return Tensor(shape, std::move(all));
  });
}

std::vector<Tensor> predicted(const AlternatingUpdates& updates, const std::vector<Tensor>& streams,
                              double eps, std::size_t threads) {
  const Tensor factors =
      apply(updates.prediction, routed(updates, streams[updates.active], eps, threads), threads);
  std::vector<Tensor> all;
  for (std::size_t n = 0; n < updates.count; ++n)
    all.push_back(moved_by(streams[n], streams, factors, n * updates.count));
  return all;
}

std::vector<Tensor> corrected(const AlternatingUpdates& updates,
                              const std::vector<Tensor>& predicted, const Tensor& computed,
                              double eps, std::size_t threads) {
  const Tensor factors = mapped(
      threads, [](double factor) { return factor + 1; },
      apply(updates.correction, routed(updates, computed, eps, threads), threads));
  const Tensor missed = mapped(
      threads, [](double own, double expected) { return own - expected; }, computed,
      predicted[updates.active]);
  std::vector<Tensor> all;
  for (std::size_t n = 0; n < updates.count; ++n)
    all.push_back(moved_by(predicted[n], {&missed, 1}, factors, n));
  return all;
}

Tensor StreamEnds::spread(const Tensor& x, std::size_t threads) const {
  std::vector<Tensor> streams{x};
  for (const StoredLinear& linear : in) streams.push_back(as_long(apply(linear, x, threads), x));
  return side_by_side(streams);
}

Tensor StreamEnds::joined(const Tensor& streams, std::size_t threads) const {
  const std::vector<Tensor> all = apart(streams, out.size() + 1);
  Tensor total = all.front();
  for (std::size_t n = 0; n < out.size(); ++n)
    total = sum(total, as_long(apply(out[n], all[n + 1], threads), all.front()), threads);
  return mapped(
      threads, [count = static_cast<double>(all.size())](double x) { return x / count; }, total);
}

Tensor AugmentedResidual::of(const Tensor& x, double eps, std::size_t threads) const {
  const Tensor made = apply(right, apply(left, x, threads), threads);
  return sum(x, norm ? apply(*norm, made, eps, threads) : made, threads);
}

double normal_quantile(double share) {
  constexpr int halvings = 100;  // more than a double has bits
  double low = -40, high = 40;   // beyond which no share is left
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    const double below = std::erfc(-middle / std::numbers::sqrt2) / 2;
    (below < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

Tensor largest_of_rows(const Tensor& x, double z) {
  const std::size_t width = x.shape().back();
  const auto count = static_cast<double>(width);
  return with_floats(x, [&]<class T>(std::span<const T> from) {
    std::vector<T> y(from.begin(), from.end());
    for (std::size_t at = 0; at < y.size(); at += width) {
      const std::span<T> row(y.data() + at, width);
      double mean = 0, squares = 0;
      for (const T number : row) mean += static_cast<double>(number);
      mean /= count;
      for (const T number : row) {
        const double far = static_cast<double>(number) - mean;
        squares += far * far;
      }
      const double least = mean + z * std::sqrt(squares / count);
      for (T& number : row)
        number = static_cast<T>(std::max(0.0, static_cast<double>(number) - least));
    }
    return Tensor(x.shape(), std::move(y));
  });
}

}  // namespace attn
