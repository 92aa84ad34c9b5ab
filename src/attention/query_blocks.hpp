#pragma once

#include <cstddef>
#include <functional>

#include "attn/attention.hpp"

namespace attn {

/// Told of the weights [1,H,count,Lk] of queries `first`…`first + count` − 1.
using TakeRows = std::function<void(std::size_t first, const Tensor& weights)>;

/// Computes a self-attention so many queries at a time, so that no more rows of weights are there
/// at once. Gives the output [1,L,H·d]. The request is of scaled dot products of one sample, its
/// tensors [1,L,·] without a past, and its mask is made of causality, window and ALiBi alone, from
/// the upper left.
Tensor attend_by_queries(const AttentionRequest& request, std::size_t queries_at_a_time,
                         const TakeRows& take);

}  // namespace attn
