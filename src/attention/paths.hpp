#pragma once

#include <cstddef>
#include <functional>
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

/// The definition of every kind, in double precision, one (sample, head) after the other. All
/// faster paths are held against it.
AttentionResult reference_attention(const AttentionRequest& request, const Geometry& geometry,
                                    const Visibility& visibility);

/// Told of the weights [1,H,count,Lk] of queries `first`…`first + count` − 1.
using TakeRows = std::function<void(std::size_t first, const Tensor& weights)>;

/// Computes a self-attention so many queries at a time, so that no more rows of weights are there
/// at once. Gives the output [1,L,H·d]. The request is of scaled dot products of one sample, its
/// tensors [1,L,·] without a past, and its mask is made of causality, window and ALiBi alone, from
/// the upper left.
Tensor attend_by_queries(const AttentionRequest& request, std::size_t queries_at_a_time,
                         const TakeRows& take);

}  // namespace attn
