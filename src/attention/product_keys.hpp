#pragma once

#include "attn/attention.hpp"

#include "attention/geometry.hpp"

namespace attn {

/// General attention qᵀ W k in single precision as the products of queries with other keys, k Wᵀ.
AttentionRequest as_products(const AttentionRequest& request, const Geometry& geometry);

}  // namespace attn
