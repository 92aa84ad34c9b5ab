#pragma once

#include "attn/attention.hpp"

#include "attention/geometry.hpp"

namespace attn {

/// General attention qᵀ W k, in the type of its result, by the products of queries with other keys,
/// k Wᵀ.
AttentionRequest as_products(const AttentionRequest& request);

/// The same attention with nothing to compare: queries and keys of one zero each, for scores that
/// come from elsewhere.
AttentionRequest without_products(const AttentionRequest& request, const Geometry& geometry);

}  // namespace attn
