#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attn/tensor.hpp"

#include "attention/linear.hpp"

namespace attn {

/// Rows of numbers in double precision that are changed in place, [count,width].
struct Rows {
  std::size_t width = 0;
  std::vector<double> numbers;

  Rows() = default;
  Rows(std::size_t count, std::size_t own_width)
      : width(own_width), numbers(count * own_width, 0.0) {}

  std::size_t count() const { return width == 0 ? 0 : numbers.size() / width; }
  double* row(std::size_t i) { return numbers.data() + i * width; }
  const double* row(std::size_t i) const { return numbers.data() + i * width; }
};

/// Some rows of a tensor [..,L,width] of one sample.
Rows rows_at(const Tensor& tensor, std::span<const std::size_t> positions);

/// Σ a[i]·b[i]
double dot(const double* a, const double* b, std::size_t count);
/// to += factor · from
void add_scaled(double factor, const double* from, std::size_t count, double* to);

/// The columns of a stored matrix [out,in] as rows [in,out], so that products with few vectors are
/// sums of rows.
Rows columns_of(const StoredMatrix& matrix);
/// The rows of a stored matrix.
Rows rows_of(const StoredMatrix& matrix);

/// to += Σ factors[n] · row `first` + n
void add_combination(const Rows& rows, std::size_t first, std::span<const double> factors,
                     double* to);

}  // namespace attn
