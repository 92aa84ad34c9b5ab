#pragma once

#include <optional>

#include "attn/attention.hpp"

#include "attention/geometry.hpp"
#include "attention/visibility.hpp"

namespace attn {

/// Whether the request is large enough for speed to matter more than the last digits, which double
/// precision gets right.
bool fast_path_pays(const Geometry& geometry);

/// Whether it is large enough for the kernels' double precision, whose results of single precision
/// are rounded once as the reference's are, to save more time than it takes to set them up.
bool exact_path_pays(const AttentionRequest& request, const Geometry& geometry);

/// What reference_attention() gives, within single precision: weights to a relative 2e-5 with
/// random inputs; docs/numerics.md says more. The bits do not depend on the number of threads.
/// Absent, for the reference to compute, if the kernels do not take the score (they take queries
/// and keys), stages, dropout or a finite fill are asked for, or the numbers leave the range of
/// double precision.
std::optional<AttentionResult> fast_attention(const AttentionRequest& request,
                                              const Geometry& geometry,
                                              const Visibility& visibility);

/// The same by way of double precision alone: what reference_attention() gives, but for results
/// that lie in the middle between two numbers of their type.
std::optional<AttentionResult> exact_fast_attention(const AttentionRequest& request,
                                                    const Geometry& geometry,
                                                    const Visibility& visibility);

}  // namespace attn
