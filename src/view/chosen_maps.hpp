#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/run.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// The tensor as maps [B,H,Lq,Lk]; `heads_only` as Maps takes it. An absent tensor stays absent.
Tensor as_maps(const Tensor& tensor, bool heads_only);

/// Heads of maps [B,H,Lq,Lk], or of what has an axis of 1 in the place of theirs. Shares the
/// elements if all heads are wanted in their order. An absent tensor stays absent.
Tensor maps_of_heads(const Tensor& maps, const std::vector<std::size_t>& heads, std::size_t of);

}  // namespace attn
