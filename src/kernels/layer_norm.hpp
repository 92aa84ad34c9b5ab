#pragma once

#include <cstddef>

namespace attn::kernels {

/// A norm of rows of `width` numbers, in double precision and rounded once:
/// (x − mean) / √(variance + eps) · weight + bias, with the biased variance.
template <class T>
struct RowNorm {
  const T* x;
  const T* added;        ///< rows that are added to x before, or null
  const double* weight;  ///< [width]; null = 1
  const double* bias;    ///< [width]; null = 0
  std::size_t width;
  double eps;
  bool centred;  ///< false: 0 counts as the mean, as in an RMS norm
  T* to;
};

/// Norms of the first `rows` rows. A row's numbers do not depend on the others.
void normalise_rows(const RowNorm<float>& norm, std::size_t rows) noexcept;
void normalise_rows(const RowNorm<double>& norm, std::size_t rows) noexcept;

}  // namespace attn::kernels
