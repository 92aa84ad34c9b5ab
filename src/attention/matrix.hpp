#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

#include "attention/head_rows.hpp"

namespace attn {

/// Matrices and vectors of the formulas.
using Matrix = xt::xtensor<double, 2>;
using Vector = xt::xtensor<double, 1>;

/// Row i of a matrix, for reading or writing.
template <class M>
auto row_of(M& matrix, std::size_t i) {
  return xt::row(matrix, static_cast<std::ptrdiff_t>(i));
}

inline Vector vector(std::span<const double> numbers) {
  Vector result = xt::empty<double>({numbers.size()});
  std::copy(numbers.begin(), numbers.end(), result.begin());
  return result;
}

/// Rows [first, first + count) of a head.
inline Matrix matrix(const HeadRows<double>& rows, std::size_t batch, std::size_t head,
                     std::size_t first, std::size_t count) {
  Matrix result = xt::empty<double>({count, rows.width()});
  for (std::size_t i = 0; i < count; ++i) {
    const auto from = rows(batch, head, first + i);
    std::copy(from.begin(), from.end(), result.data() + i * rows.width());
  }
  return result;
}
inline Matrix matrix(const HeadRows<double>& rows, std::size_t batch, std::size_t head) {
  return matrix(rows, batch, head, 0, rows.length());
}
/// The matrix of a tensor of two axes.
inline Matrix matrix(const Tensor& tensor) {
  return matrix(HeadRows<double>(tensor, 1), 0, 0);
}

/// a bᵀ, [n,m] from [n,d] and [m,d]. The products of an entry are added in order.
inline Matrix times_transposed(const Matrix& a, const Matrix& b) {
  const Matrix columns = xt::transpose(b);
  Matrix product = xt::zeros<double>({a.shape(0), b.shape(0)});
  for (std::size_t i = 0; i < a.shape(0); ++i) {
    for (std::size_t d = 0; d < a.shape(1); ++d) {
      xt::noalias(row_of(product, i)) += a(i, d) * row_of(columns, d);
    }
  }
  return product;
}

}  // namespace attn
