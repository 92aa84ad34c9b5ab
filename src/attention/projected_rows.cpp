#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "attention/linear.hpp"
#include "kernels/row_functions.hpp"
#include "support/parallel_for.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

using kernels::error_probes;
using kernels::RowSquares;

constexpr double most_error = 5e-5;  // of a score

// Numbers that one thread reads in less time than another takes to begin.
constexpr std::size_t few_numbers = std::size_t{1} << 18U;

// Rows per task when there are more.
std::size_t rows_of_task(std::size_t width) {
  return std::max<std::size_t>(1, few_numbers / 4 / width);
}

RowSquares squares_of(std::span<const float> numbers, std::size_t width, std::size_t threads) {
  const std::size_t count = numbers.size() / width;
  if (numbers.size() <= few_numbers) return kernels::row_squares(numbers.data(), count, width);
  const std::size_t share = rows_of_task(width);
  std::vector<RowSquares> parts((count + share - 1) / share);
  parallel_for(parts.size(), threads, [&](std::size_t part) {
    const std::size_t first = part * share;
    parts[part] =
        kernels::row_squares(numbers.data() + first * width, std::min(share, count - first), width);
  });
  RowSquares result;
  for (const RowSquares& part : parts) {
    result.largest = std::max(result.largest, part.largest);
    result.finite = result.finite && part.finite;
  }
  return result;
}

// From above: squares are rounded, and those below the range of floats are lost.
double length_of(const RowSquares& squares) {
  return 1.001 * std::sqrt(static_cast<double>(squares.largest)) + 1e-18;
}

double length_of(const Tensor& vector) {
  return vector ? length_of(squares_of(vector.values<float>(), vector.size(), 1)) : 0;
}

// Products of random signs with a Linear layer of floats, of one seed: the same ones each time.
class Probes {
 public:
  Probes(Linear linear, std::size_t threads)
      : linear_(std::move(linear)),
        width_(linear_.weight.shape()[1]),
        outputs_(linear_.weight.shape()[0]) {
    std::minstd_rand random;
    signs_.resize(error_probes * outputs_);
    for (float& sign : signs_) sign = (random() >> 8U & 1U) != 0 ? 1.0F : -1.0F;
    mixed_.resize(error_probes * width_);
    probes_ = {width_, outputs_, signs_.data(), mixed_.data(), {}};
    if (linear_.bias) {
      const auto bias = linear_.bias.values<float>();
      for (std::size_t i = 0; i < signs_.size(); ++i) {
        probes_.constant[i / outputs_] +=
            static_cast<double>(signs_[i]) * static_cast<double>(bias[i % outputs_]);
      }
    }
    const std::size_t workers = width_ * outputs_ <= few_numbers / 8 ? 1 : threads;
    constexpr std::size_t columns = 256;
    parallel_for((width_ + columns - 1) / columns, workers, [&](std::size_t part) {
      const std::size_t first = part * columns;
      kernels::mix_columns(weight(), probes_, first, std::min(columns, width_ - first));
    });
  }
  Probes(const Probes&) = delete;
  Probes& operator=(const Probes&) = delete;

  // An estimate of (Σ σ⁴)^¼ with the singular values σ of W, which is at least the largest of them
  // and a third to a fourth of (Σ σ²)^½ for 64 to 128 rows without a direction in common.
  double norm() const {
    std::vector<double> lengths(outputs_);
    kernels::measure_errors(probes_, weight(), nullptr, outputs_, lengths.data());
    double squares = 0;
    for (const double length : lengths) squares += length * length;
    return std::sqrt(std::sqrt(squares));
  }

  // Estimates of the lengths of the errors of all rows y.
  std::vector<double> errors(const Tensor& x, const Tensor& y, std::size_t threads) const {
    std::vector<double> errors(x.size() / width_);
    const std::size_t share = rows_of_task(4 * (width_ + outputs_));
    parallel_for((errors.size() + share - 1) / share, threads, [&](std::size_t part) {
      const std::size_t first = part * share;
      kernels::measure_errors(probes_, x.values<float>().data() + first * width_,
                              y.values<float>().data() + first * outputs_,
                              std::min(share, errors.size() - first), errors.data() + first);
    });
    return errors;
  }

 private:
  const float* weight() const { return linear_.weight.values<float>().data(); }

  Linear linear_;
  std::size_t width_, outputs_;
  std::vector<float> signs_;
  std::vector<double> mixed_;
  kernels::ErrorProbes probes_{};
};

// Whether the longest row of x could move no score by more than `most_error`. With u = 2⁻²⁴ each of
// `width` partial sums of a row's component is rounded by 0.42 u times its size, root of the mean
// square. Products of about equal sizes that cancel have partial sums up to half of |W_i| |x|,
// evenly rising and falling, whose squares add up to width / 12 times those of |W_i| |x|. Errors of
// components are independent unless rows of W are alike, so that they move a score by at most ‖W‖₂
// |x| times one of them, with the W of one head. Five standard deviations are held against the
// limit.
bool within_bound(const Linear& linear, const Tensor& x, const Steepness& steepness,
                  std::size_t threads) {
  const std::size_t outputs = linear.weight.shape()[0], width = linear.weight.shape()[1];
  // ‖W‖₂ is at most the length of W as a vector, a bound that is seldom close enough for wide rows;
  // a better bound takes as long as measuring as many rows x as W has.
  const bool many_rows = x.size() / width >= 4 * outputs;
  if (!many_rows && width > 512) return false;
  const RowSquares squares = squares_of(x.values<float>(), width, threads);
  if (!squares.finite) return false;
  const double roundings = 5 * 0.42 * 0x1p-24 * std::sqrt(static_cast<double>(width) / 12 + 1);
  const double longest = length_of(squares), bias = length_of(linear.bias);
  const auto small = [&](double norm) {
    return roundings * (norm * longest + bias) * steepness.most <= most_error;
  };
  const std::size_t rows = outputs / steepness.heads;
  for (std::size_t head = 0; head < steepness.heads; ++head) {
    const Tensor W = rows_of(linear.weight, head * rows, rows);
    if (small(length_of(W))) continue;
    if (!many_rows || !small(Probes({W, {}}, threads).norm())) return false;
  }
  return true;
}

}  // namespace

double longest_row(const Tensor& rows, std::size_t width, std::size_t threads) {
  return length_of(squares_of(rows.converted(DType::float32).values<float>(), width, threads));
}

// 1. within_bound(). 2. The length of each row's error is measured (kernels::measure_errors). One
// error in 25 is measured as less than 0.4 of what it is. Each row is judged alone, so that hidden
// ones change no bit of the others.
bool make_precise(Tensor& y, const Linear& linear, const Tensor& x, const Steepness& steepness,
                  std::size_t threads) {
  const Linear floats{linear.weight.converted(DType::float32),
                      linear.bias.converted(DType::float32)};
  const std::size_t width = floats.weight.shape()[1], outputs = floats.weight.shape()[0];
  const std::size_t count = x.size() / width;
  if (within_bound(floats, x, steepness, threads)) return true;

  const Probes probes(floats, threads);
  const std::vector<double> errors = probes.errors(x, y, threads);
  const auto steepness_of = [&](std::size_t row) {
    return steepness.rows.empty() ? steepness.most : steepness.rows[row];
  };
  std::vector<std::size_t> imprecise;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (std::isfinite(errors[i]) && errors[i] * steepness_of(i) > 0.4 * most_error) {
      imprecise.push_back(i);
    }
  }
  if (imprecise.empty()) return true;
  const Tensor rows = x.reshaped({count, width});
  const Tensor exact = apply(linear, picked(rows, imprecise).converted(DType::float64), threads);
  const Tensor precise = exact.converted(DType::float32);
  const std::span<const float> from = precise.values<float>(), others = y.values<float>();
  std::vector<float> numbers(others.begin(), others.end());
  for (std::size_t i = 0; i < imprecise.size(); ++i) {
    const float* const row = from.data() + i * outputs;
    const double length = length_of(kernels::row_squares(row, 1, outputs));
    // The rounding of the row itself.
    if (0x1p-25 * length * steepness_of(imprecise[i]) > most_error) return false;
    std::copy_n(row, outputs, numbers.data() + imprecise[i] * outputs);
  }
  y = Tensor(y.shape(), std::move(numbers));
  return true;
}

Tensor projected_rows(const Tensor& x, const Tensor& W, const std::function<double()>& steepness,
                      DType dtype, std::size_t threads, bool& precise) {
  const std::size_t width = W.shape()[1];
  const Linear linear{W, {}};
  const Tensor rows = x.converted(dtype).reshaped({x.size() / width, width});
  Tensor y = apply(linear, rows, threads);
  if (dtype == DType::float32 && !make_precise(y, linear, rows, {1, steepness(), {}}, threads)) {
    precise = false;
  }
  return y;
}

}  // namespace attn
