#pragma once

#include <cstddef>

#include "attn/tensor.hpp"

namespace attn {

/// Seen cells [B,1,Lq,Lk] if all heads of [B,H,Lq,Lk] see the same; any other tensor unchanged.
Tensor once_for_heads(const Tensor& allowed);

/// Seen cells [B,H,Lq,Lk] of [B,1,Lq,Lk] for that number of heads; any other tensor unchanged.
Tensor for_each_head(const Tensor& allowed, std::size_t heads);

}  // namespace attn
