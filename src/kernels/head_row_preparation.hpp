#pragma once

#include <cstddef>

namespace attn::kernels {

/// (x − mean) / √(mean of squares + eps) · weight + bias for rows of `width` numbers: with the mean
/// of the row, or 0 for an RMS norm. No bias: null.
struct RowNorm {
  const double *weight, *bias;
  double eps;
  bool subtracts_mean;
};

/// Cosines and sines, [rows, pairs] each, that pairs of columns are turned by: columns n and
/// n + pairs, or 2n and 2n + 1 if interleaved.
struct RowTurns {
  const double *cos, *sin;
  std::size_t pairs;
  bool interleaved;
};

/// Rows as they are compared, `stride` numbers apart in `from` and `to`: each step in double
/// precision, rounded to float. Norm and turns may be null.
void prepare_rows(const float* from, std::size_t count, std::size_t width, std::size_t stride,
                  const RowNorm* norm, const RowTurns* turns, float* to) noexcept;

}  // namespace attn::kernels
