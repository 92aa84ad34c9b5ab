#pragma once

#include <optional>

#include "attn/attention.hpp"

#include "attention/geometry.hpp"
#include "attention/visibility.hpp"

namespace attn {

/// Whether the request is large enough for speed to matter more than the last digits, which double
/// precision gets right.
bool fast_path_pays(const Geometry& geometry);

/// What reference_attention() gives, within single precision: weights to a relative 2e-5 with
/// random inputs; docs/numerics.md says more. The bits do not depend on the number of threads.
/// Absent, for the reference to compute, if the kernels do not take the score (they take queries
/// and keys; products alone in double precision), stages, dropout or a finite fill are asked for,
/// or the numbers leave the range of double precision.
std::optional<AttentionResult> fast_attention(const AttentionRequest& request,
                                              const Geometry& geometry,
                                              const Visibility& visibility);

}  // namespace attn
