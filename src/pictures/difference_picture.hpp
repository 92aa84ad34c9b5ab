#pragma once

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

/// "weights", or "weights[0,1]" where the matrix is one of several.
std::string pictured_name(const DifferenceMap& map);

/// A heatmap of a − b on a diverging colour map whose middle is zero; `provenance` goes into its
/// metadata.
Picture draw_difference(const DifferenceMap& map, PictureFormat format, double dpi,
                        const std::string& provenance);

}  // namespace attn
