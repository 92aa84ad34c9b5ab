#pragma once

#include <optional>

#include "attn/attention.hpp"

#include "attention/additive_scores.hpp"
#include "attention/geometry.hpp"
#include "attention/visibility.hpp"

namespace attn {

/// One attention of products by the kernels, which compute in T what is wanted in R, or in narrow
/// types round each step of float. With `scores`, these are added to the products before the mask.
/// Absent if the numbers leave the range that T is good for, or a narrow type's.
template <class T, class R = T>
std::optional<AttentionResult> kernel_attention(const AttentionOptions& options,
                                                const Sequences& sequences, double scale,
                                                const Geometry& geometry,
                                                const Visibility& visibility,
                                                const AdditiveScores<T>* scores = nullptr);

}  // namespace attn
