#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "attention/linear.hpp"
#include "support/parallel_for.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

constexpr double endless = std::numeric_limits<double>::infinity();

// Σ x² of a row, at least in single precision. Independent lanes, so that compilers use vectors.
double squares_of(const float* row, std::size_t width) {
  constexpr std::size_t lanes = 16;
  std::array<float, lanes> sums{};
  std::size_t k = 0;
  for (; k + lanes <= width; k += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += row[k + lane] * row[k + lane];
  }
  double sum = 0;
  for (const float part : sums) sum += static_cast<double>(part);
  for (; k < width; ++k) sum += static_cast<double>(row[k]) * static_cast<double>(row[k]);
  return sum;
}

// y = W x, or Wᵀ x.
void multiply(std::span<const double> W, const std::vector<double>& x, bool transposed,
              std::vector<double>& y) {
  const std::size_t columns = transposed ? y.size() : x.size();
  std::fill(y.begin(), y.end(), 0.0);
  for (std::size_t i = 0; i < W.size() / columns; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      (transposed ? y[j] : y[i]) += W[i * columns + j] * (transposed ? x[i] : x[j]);
    }
  }
}

double length_of(const std::vector<double>& x) {
  double squares = 0;
  for (const double number : x) squares += number * number;
  return std::sqrt(squares);
}

// The largest singular value of W [out,in] by powers of W Wᵀ, from its longest row on (Golub & Van
// Loan 2013, section 7.3): at least the length of that row, and within a tenth after a few steps
// unless several values are as large.
double spectral_norm(const Tensor& weight) {
  const Tensor doubles = weight.converted(DType::float64);
  const std::span<const double> W = doubles.values<double>();
  const std::size_t columns = weight.shape()[1];
  std::vector<double> x(columns), y(weight.shape()[0]);
  double norm = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    std::vector<double> row(W.begin() + static_cast<std::ptrdiff_t>(i * columns),
                            W.begin() + static_cast<std::ptrdiff_t>((i + 1) * columns));
    const double length = length_of(row);
    if (!std::isfinite(length)) return endless;
    if (length <= norm) continue;
    norm = length;
    x = std::move(row);
  }
  constexpr int steps = 8;
  for (int step = 0; step < steps && norm > 0; ++step) {
    const double length = length_of(x);
    if (!(length > 0 && length < endless)) return length > 0 ? endless : norm;
    for (double& number : x) number /= length;
    multiply(W, x, false, y);
    norm = std::max(norm, length_of(y));
    multiply(W, y, true, x);
  }
  return norm;
}

// The lengths of rows of `width` numbers, in single precision from above; infinity for those that
// are not finite.
std::vector<double> lengths_of(const Tensor& rows, std::size_t width, std::size_t threads) {
  const Tensor floats = rows.converted(DType::float32);
  const std::span<const float> numbers = floats.values<float>();
  std::vector<double> lengths(numbers.size() / width);
  constexpr std::size_t share = 1024;
  parallel_for((lengths.size() + share - 1) / share, threads, [&](std::size_t part) {
    const std::size_t end = std::min(lengths.size(), (part + 1) * share);
    for (std::size_t i = part * share; i < end; ++i) {
      const double squares = squares_of(numbers.data() + i * width, width);
      lengths[i] = std::isfinite(squares) ? 1.001 * std::sqrt(squares) : endless;
    }
  });
  return lengths;
}

}  // namespace

double longest_row(const Tensor& rows, std::size_t width, std::size_t threads) {
  double longest = 0;
  for (const double length : lengths_of(rows, width, threads)) {
    if (length < endless) longest = std::max(longest, length);
  }
  return longest;
}

// With u = 2⁻²⁴ each of `width` partial sums of a row's component is rounded by 0.42 u times its
// size, root of the mean square. Products of about equal sizes that cancel have partial sums up to
// half of |W_i| |x|, evenly rising and falling, whose squares add up to width / 12 times those of
// |W_i| |x|. Errors of components are independent but for alike rows of W, so that the length of a
// row's error is at most ‖W‖₂ |x| times one of them. Five standard deviations are kept below
// 5·10⁻⁵. Each row is judged by itself, so that hidden ones change no bit of the others.
Tensor projected_rows(const Tensor& x, const Tensor& W, double steepness, DType dtype,
                      std::size_t threads) {
  const std::size_t width = W.shape()[1];
  const Tensor rows = x.reshaped({x.size() / width, width});
  const auto project = [&](const Tensor& some, DType precision) {
    return apply(Linear{W, {}}, some.converted(precision), threads);
  };
  const Tensor projected = project(rows, dtype);
  if (dtype == DType::float64) return projected;
  const double roundings = 5 * 0.42 * 0x1p-24 * std::sqrt(static_cast<double>(width) / 12 + 1);
  const std::vector<double> lengths = lengths_of(x, width, threads);
  std::vector<std::size_t> imprecise;
  // ‖W‖₂ is at most the length of W as a vector, which takes less time.
  for (const bool exact_norm : {false, true}) {
    const double norm = exact_norm ? spectral_norm(W) : lengths_of(W, W.size(), 1).front();
    imprecise.clear();
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] < endless && !(roundings * steepness * norm * lengths[i] <= 5e-5)) {
        imprecise.push_back(i);
      }
    }
    if (imprecise.empty()) return projected;
  }
  const Tensor precise = project(picked(rows, imprecise), DType::float64).converted(dtype);
  const std::span<const float> from = precise.values<float>(), others = projected.values<float>();
  const std::size_t outputs = W.shape()[0];
  std::vector<float> numbers(others.begin(), others.end());
  for (std::size_t i = 0; i < imprecise.size(); ++i) {
    std::copy_n(from.data() + i * outputs, outputs, numbers.data() + imprecise[i] * outputs);
  }
  return {projected.shape(), std::move(numbers)};
}

}  // namespace attn
