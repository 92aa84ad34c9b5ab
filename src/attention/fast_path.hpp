#pragma once

#include <optional>

#include "attn/attention.hpp"

#include "attention/geometry.hpp"
#include "attention/visibility.hpp"

namespace attn {

/// Whether the kernels compute all that is asked for: scores of queries and keys (of products alone
/// in double precision), without stages, dropout or a finite fill.
bool fast_path_supports(const AttentionRequest& request, const Visibility& visibility);

/// Whether the request is large enough for speed to matter more than the last digits, which double
/// precision gets right.
bool fast_path_pays(const Geometry& geometry);

/// What reference_attention() gives, within single precision: weights to a relative 2e-5 for scores
/// up to 20. The bits do not depend on the number of threads. Absent if the numbers leave the range
/// of single precision, for the reference to compute.
std::optional<AttentionResult> fast_attention(const AttentionRequest& request,
                                              const Geometry& geometry,
                                              const Visibility& visibility);

}  // namespace attn
