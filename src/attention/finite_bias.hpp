#pragma once

#include "attn/spec.hpp"
#include "attn/tensor.hpp"

#include "attention/geometry.hpp"

namespace attn {

/// Keys that no part of a mask hides, but a large negative number of its bias (the smallest of the
/// type, −1e9, −100 with scores of usual sizes): 1 where the weight is 0, or below the smallest
/// normal number, in the type of the result, and the bias is further below the largest bias that
/// the query sees than half of the way there. bool of the shape of the weights [Lq,Lk],
/// [B,Lq,Lk] or [B,H,Lq,Lk]; absent if there is none. `dtype` is that of the result.
Tensor hidden_in_effect(const Mask& mask, const Geometry& geometry, const Tensor& weights,
                        DType dtype);

}  // namespace attn
