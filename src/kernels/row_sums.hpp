#pragma once

#include <cstddef>

namespace attn::kernels {

/// What statistics of heads need of a row of weights.
struct RowSums {
  double sum = 0;       ///< Σ a
  double entropy = 0;   ///< −Σ a ln a, where 0 ln 0 = 0
  double distance = 0;  ///< Σ a·|position − j|
  double largest = 0;   ///< max a; NaN if any number is
  std::size_t positive = 0;
};

/// Of the row of the query at that position, in double precision.
RowSums row_sums(const float* row, std::size_t count, double position) noexcept;
RowSums row_sums(const double* row, std::size_t count, double position) noexcept;

}  // namespace attn::kernels
