#pragma once

#include <span>
#include <string>

#include "attn/plot.hpp"
#include "attn/tensor.hpp"

#include "document/labels.hpp"

namespace attn {

/// Which matrix of two tensors of one shape to draw the difference of.
struct DifferenceMap {
  Tensor a, b;       ///< at least two axes
  std::string name;  ///< of the tensor
  Shape index;       ///< of an element of the matrix
  Labels labels;     ///< of the rows and columns of a map of weights
};

/// a − b of matrices of float64, and zero where a NaN or an infinity is in both.
Tensor difference_of(const Tensor& a, const Tensor& b);

/// 1 where either of two masks of one shape has it.
Tensor either(const Tensor& a, const Tensor& b);

/// The largest distance from zero of finite numbers, within what the ends of a range may be; 1 if
/// all are zero.
double largest_finite(std::span<const Heatmap> maps);

/// "weights", or "weights[0,1]" where the matrix is one of several.
std::string pictured_name(const DifferenceMap& map);

/// A heatmap of a − b on a diverging colour map whose middle is zero; `provenance` goes into its
/// metadata.
Picture draw_difference(const DifferenceMap& map, PictureFormat format, double dpi,
                        const std::string& provenance);

}  // namespace attn
