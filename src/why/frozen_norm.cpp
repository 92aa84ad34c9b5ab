#include "why/frozen_norm.hpp"

#include <cmath>
#include <numeric>

namespace attn {
namespace {

std::vector<double> numbers_of(const Tensor& tensor) {
  const Tensor numbers = tensor.converted(DType::float64);
  return {numbers.values<double>().begin(), numbers.values<double>().end()};
}

}  // namespace

FrozenNorm::FrozenNorm(const std::optional<Norm>& norm, const Rows& x, double eps)
    : width_(x.width) {
  if (!norm) return;
  centred_ = norm->kind == NormKind::layer;
  if (norm->weight) weight_ = numbers_of(norm->weight);
  if (norm->bias) shift_ = numbers_of(norm->bias);
  for (std::size_t i = 0; i < x.count(); ++i) {
    std::vector<double> row(x.row(i), x.row(i) + width_);
    centre(row.data());
    const double variance = dot(row.data(), row.data(), width_) / static_cast<double>(width_);
    divisors_.push_back(1 / std::sqrt(variance + eps));
  }
}

void FrozenNorm::centre(double* row) const {
  if (!centred_) return;
  const double mean = std::accumulate(row, row + width_, 0.0) / static_cast<double>(width_);
  for (std::size_t k = 0; k < width_; ++k) row[k] -= mean;
}

void FrozenNorm::apply(std::size_t row, double* part) const {
  if (divisors_.empty()) return;
  centre(part);
  for (std::size_t k = 0; k < width_; ++k) {
    part[k] *= divisors_[row] * (weight_.empty() ? 1 : weight_[k]);
  }
}

void FrozenNorm::apply_back(std::size_t row, double* g) const {
  if (divisors_.empty()) return;
  for (std::size_t k = 0; k < width_; ++k) {
    g[k] *= divisors_[row] * (weight_.empty() ? 1 : weight_[k]);
  }
  centre(g);
}

void FrozenNorm::add_shift(double* part) const {
  if (!shift_.empty()) add_scaled(1, shift_.data(), width_, part);
}

double FrozenNorm::along_shift(const double* g) const {
  return shift_.empty() ? 0 : dot(g, shift_.data(), width_);
}

}  // namespace attn
