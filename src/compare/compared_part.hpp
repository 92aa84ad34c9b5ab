#pragma once

#include "attn/compare.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// The layers and heads of a tensor that are to be compared, if it has the axes that the request
/// says. Throws Error(input) naming the field for those that are not there.
Tensor compared_part(const Tensor& tensor, const CompareRequest& request);

/// The first elements of each axis, as many as `shape` has.
Tensor leading_part(const Tensor& tensor, const Shape& shape);

}  // namespace attn
