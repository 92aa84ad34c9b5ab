#include "statistics/stack_analyses.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

#include "attention/linear.hpp"
#include "kernels/row_functions.hpp"
#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"

namespace attn {
namespace {

// Fuses one row of all heads' maps, `stride` numbers apart, into one. A mean is their sum here.
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

// a·b, both [n,n]. The columns of b are the rows of a weight that are stored side by side.
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

// Sets the `count` smallest numbers of a row to zero; among equal ones the first.
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

// Â of one sample, [n,n].
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

namespace {

constexpr double smoothing = 0.001;

// The smoothed rows of a head, [B·Lq,Lk]; zeros where a row has no weight.
struct SmoothRows {
  std::vector<double> numbers;
  std::vector<double> entropies;  // in nats, one per row
};

template <class T>
SmoothRows smooth_rows(const Tensor& maps, std::size_t head) {
  const Shape& shape = maps.shape();
  const std::size_t rows = shape[2], columns = shape[3];
  const std::span<const T> numbers = maps.values<T>();
  SmoothRows smooth;
  smooth.numbers.resize(shape[0] * rows * columns);
  for (std::size_t b = 0; b < shape[0]; ++b) {
    for (std::size_t i = 0; i < rows; ++i) {
      const T* from = numbers.data() + ((b * shape[1] + head) * rows + i) * columns;
      double* to = smooth.numbers.data() + (b * rows + i) * columns;
      const double floor = smoothing / static_cast<double>(columns);
      if (std::any_of(from, from + columns, [](T number) { return number != 0; })) {
        for (std::size_t j = 0; j < columns; ++j) to[j] = (1 - smoothing) * from[j] + floor;
      }
      smooth.entropies.push_back(kernels::row_sums(to, columns, 0).entropy);
    }
  }
  return smooth;
}

// The Jensen-Shannon divergence of two heads, summed over the rows that have weight in both.
double divergence(const SmoothRows& a, const SmoothRows& b, std::size_t columns) {
  std::vector<double> middle(columns);
  double sum = 0;
  for (std::size_t row = 0; row < a.entropies.size(); ++row) {
    const double *first = a.numbers.data() + row * columns,
                 *second = b.numbers.data() + row * columns;
    if (first[0] == 0 || second[0] == 0) continue;
    for (std::size_t j = 0; j < columns; ++j) middle[j] = (first[j] + second[j]) / 2;
    sum += kernels::row_sums(middle.data(), columns, 0).entropy -
           (a.entropies[row] + b.entropies[row]) / 2;
  }
  return std::max(sum, 0.0);
}

}  // namespace

void HeadDistances::add(const Tensor& maps) {
  layers_.push_back(maps);
}

Tensor HeadDistances::distances() const {
  std::vector<SmoothRows> heads;
  std::size_t columns = 0;
  for (const Tensor& maps : layers_) {
    columns = maps.shape()[3];
    for (std::size_t h = 0; h < maps.shape()[1]; ++h) {
      heads.push_back(
          with_float_type(maps.dtype(), [&]<class T>() { return smooth_rows<T>(maps, h); }));
    }
  }
  const std::size_t count = heads.size();
  std::vector<double> all(count * count);
  parallel_for(count, threads_, [&](std::size_t a) {
    for (std::size_t b = a + 1; b < count; ++b) {
      all[a * count + b] = divergence(heads[a], heads[b], columns);
    }
  });
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < a; ++b) all[a * count + b] = all[b * count + a];
  }
  return {{count, count}, std::move(all)};
}

namespace {

// Eigenvalues of a symmetric matrix in no order, and their eigenvectors of length 1 as rows.
struct Spectrum {
  std::vector<double> values, vectors;
};

// Two rows turned in their plane by the angle with this cosine and sine.
void turn_rows(double* a, double* b, std::size_t count, double cosine, double sine) {
  for (std::size_t k = 0; k < count; ++k) {
    const double x = a[k], y = b[k];
    a[k] = cosine * x - sine * y;
    b[k] = sine * x + cosine * y;
  }
}

// Takes a symmetric matrix a [n,n], in O(n³). Eigenvalues are within a small multiple of n·2⁻⁵³ of
// the largest.
Spectrum spectrum_of(std::vector<double> a, std::size_t n) {
  Spectrum result{std::vector<double>(n), std::vector<double>(n * n)};
  auto& [diagonal, vectors] = result;
  for (std::size_t i = 0; i < n; ++i) vectors[i * n + i] = 1;
  // 1. A tridiagonal matrix by reflections H = I − v vᵀ / h, each of which clears one row (Golub &
  // Van Loan 2013, algorithm 8.3.1); `vectors` collects their product.
  std::vector<double> v(n), w(n), sums(n);
  for (std::size_t k = 0; k + 2 < n; ++k) {
    double squares = 0;
    for (std::size_t i = k + 1; i < n; ++i) {
      v[i] = a[k * n + i];
      squares += v[i] * v[i];
    }
    const double off_diagonal = -std::copysign(std::sqrt(squares), v[k + 1]);
    const double h = squares - v[k + 1] * off_diagonal;
    if (h == 0) continue;
    v[k + 1] -= off_diagonal;
    a[k * n + k + 1] = off_diagonal;
    double along = 0;
    for (std::size_t i = k + 1; i < n; ++i) {
      w[i] = std::inner_product(&v[k + 1], v.data() + n, &a[i * n + k + 1], 0.0) / h;
      along += v[i] * w[i];
    }
    for (std::size_t i = k + 1; i < n; ++i) w[i] -= along / (2 * h) * v[i];
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t i = k + 1; i < n; ++i) {
      for (std::size_t j = k + 1; j < n; ++j) a[i * n + j] -= v[i] * w[j] + w[i] * v[j];
      for (std::size_t j = 0; j < n; ++j) sums[j] += v[i] * vectors[i * n + j];
    }
    for (std::size_t i = k + 1; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) vectors[i * n + j] -= v[i] / h * sums[j];
    }
  }
  std::vector<double> off(n);  // off[i] joins diagonal[i] and diagonal[i + 1]
  for (std::size_t i = 0; i < n; ++i) diagonal[i] = a[i * n + i];
  for (std::size_t i = 0; i + 1 < n; ++i) off[i] = a[i * n + i + 1];
  // 2. A diagonal matrix by implicit QL steps with shifts (Bowdler, Martin, Reinsch & Wilkinson
  // 1968, "tql2"). Convergence is cubic, with 1 or 2 steps per eigenvalue; 64 are its bound, which
  // only NaN reaches.
  std::size_t first = 0;
  for (std::size_t steps = 0; first < n && steps < 64 * n;) {
    std::size_t last = first;
    while (last + 1 < n && !(std::abs(off[last]) <=
                             0x1p-53 * (std::abs(diagonal[last]) + std::abs(diagonal[last + 1])))) {
      ++last;
    }
    if (last == first) {
      ++first;
      continue;
    }
    ++steps;
    const double half = (diagonal[first + 1] - diagonal[first]) / (2 * off[first]);
    double g = diagonal[last] - diagonal[first] +
               off[first] / (half + std::copysign(std::hypot(half, 1.0), half));
    double sine = 1, cosine = 1, moved = 0;
    bool parted = false;
    for (std::size_t i = last; !parted && i-- > first;) {
      const double f = sine * off[i], b = cosine * off[i], r = std::hypot(f, g);
      off[i + 1] = r;
      parted = r == 0;
      if (parted) {
        diagonal[i + 1] -= moved;
      } else {
        sine = f / r;
        cosine = g / r;
        g = diagonal[i + 1] - moved;
        const double t = (diagonal[i] - g) * sine + 2 * cosine * b;
        moved = sine * t;
        diagonal[i + 1] = g + moved;
        g = cosine * t - b;
        turn_rows(vectors.data() + i * n, vectors.data() + (i + 1) * n, n, cosine, sine);
      }
    }
    off[last] = 0;
    if (parted) continue;
    diagonal[first] -= moved;
    off[first] = g;
  }
  return result;
}

// −½ J D² J, J = I − 1/n: the products of points around their middle.
std::vector<double> centred_products(std::span<const double> distances, std::size_t n) {
  std::vector<double> products(n * n), means(n);
  double mean = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double d = distances[i * n + j];
      products[i * n + j] = d * d;
      means[i] += d * d / static_cast<double>(n);
    }
    mean += means[i] / static_cast<double>(n);
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      products[i * n + j] = -0.5 * (products[i * n + j] - means[i] - means[j] + mean);
    }
  }
  return products;
}

}  // namespace

Tensor scaled_to_plane(const Tensor& distances) {
  const std::size_t count = distances.shape()[0];
  const auto [values, vectors] =
      spectrum_of(centred_products(distances.values<double>(), count), count);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&values = values](std::size_t a, std::size_t b) {
    return values[a] > values[b];
  });
  std::vector<double> points(count * 2);
  for (std::size_t axis = 0; axis < std::min<std::size_t>(2, count); ++axis) {
    const double value = values[order[axis]];
    if (value <= 0x1p-52 * static_cast<double>(count) * values[order[0]]) continue;
    const double* const vector = vectors.data() + order[axis] * count;
    std::size_t largest = 0;
    for (std::size_t i = 1; i < count; ++i) {
      if (std::abs(vector[i]) > std::abs(vector[largest]) * (1 + 1e-9)) largest = i;
    }
    const double factor = std::copysign(std::sqrt(value), vector[largest]);
    for (std::size_t i = 0; i < count; ++i) points[i * 2 + axis] = factor * vector[i];
  }
  return {{count, 2}, std::move(points)};
}

}  // namespace attn
