#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/tensor.hpp"

#include "document/plan.hpp"

namespace attn {

/// Why keys are hidden from queries in each sample, a sentence for each part of the mask that hides
/// any: "causal: keys after the query".
std::vector<std::vector<std::string>> hidden_reasons(const PlannedAttention& attention);

/// The same where only the mask of the first head is known, `allowed` [B,H,Lq,Lk] with axes of 1
/// that are repeated, or absent: what the cells look like that it hides.
std::vector<std::vector<std::string>> apparent_reasons(const Tensor& allowed, std::size_t samples,
                                                       bool same_positions);

}  // namespace attn
