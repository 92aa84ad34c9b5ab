#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "attn/attention.hpp"

#include "why/rows.hpp"

namespace attn {

/// A norm whose denominators stay those of given rows x, which makes it linear but for its shift β:
/// part ↦ (part − its mean) · γ / σ(x), the mean in a layer norm alone. Without a norm it leaves
/// its parts as they are.
class FrozenNorm {
 public:
  FrozenNorm() = default;
  FrozenNorm(const std::optional<Norm>& norm, const Rows& x, double eps);

  explicit operator bool() const noexcept { return !divisors_.empty(); }

  /// A part of row `row` through the norm, in place.
  void apply(std::size_t row, double* part) const;
  /// The vector g' with g'·part = g·apply(part) for every part, in place.
  void apply_back(std::size_t row, double* g) const;

  /// part += β
  void add_shift(double* part) const;
  /// g·β
  double along_shift(const double* g) const;

 private:
  void centre(double* row) const;

  bool centred_ = false;
  std::vector<double> weight_, shift_;  // empty = ones, zeros
  std::size_t width_ = 0;
  std::vector<double> divisors_;  // 1/σ of each row
};

}  // namespace attn
