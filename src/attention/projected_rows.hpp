#pragma once

#include <cstddef>

#include "attn/tensor.hpp"

namespace attn {

/// Rows x Wᵀ that scores are computed from, [n,out] from x [n,in] and W [out,in], in `dtype`,
/// float32 or float64. `steepness` bounds the change of a score per unit of length that a row
/// changes by. float32 is computed in double precision and rounded where cancelling products could
/// move a score by more than 5·10⁻⁵ (docs/numerics.md).
Tensor projected_rows(const Tensor& x, const Tensor& W, double steepness, DType dtype,
                      std::size_t threads);

/// The length of the longest row of `width` numbers, in single precision from above. Rows that are
/// not finite are left out.
double longest_row(const Tensor& rows, std::size_t width, std::size_t threads);

}  // namespace attn
