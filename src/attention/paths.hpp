#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "attn/attention.hpp"

#include "attention/geometry.hpp"
#include "attention/visibility.hpp"

namespace attn {

/// Whether an attention is so large that speed matters more than the last digits, which only double
/// precision gets right.
bool fast_path_pays(const Geometry& geometry);

/// Whether an attention of float32 is large enough for the kernels in double precision, whose
/// results are rounded once like the reference's, to save more time than their setup takes.
bool exact_path_pays(const AttentionRequest& request, const Geometry& geometry);

/// reference_attention() within single precision: weights to a relative 2e-5 for random inputs
/// (docs/inside/numerics.md). The bits do not depend on the number of threads. Absent if the
/// kernels do not take the score (they take queries and keys), if stages, dropout or a finite fill
/// are wanted, or if numbers leave the range of double precision.
std::optional<AttentionResult> fast_attention(const AttentionRequest& request,
                                              const Geometry& geometry,
                                              const Visibility& visibility,
                                              const Progress& progress = {});

/// fast_attention() in double precision only: equal to reference_attention() except for results
/// halfway between two numbers of their type.
std::optional<AttentionResult> exact_fast_attention(const AttentionRequest& request,
                                                    const Geometry& geometry,
                                                    const Visibility& visibility,
                                                    const Progress& progress = {});

/// attend() of a step of generation whose queries and keys were computed in single precision, which
/// small attentions keep too: double precision would copy all keys and values at each token.
AttentionResult attend_in_single(const AttentionRequest& request, const Progress& progress = {});

/// The definition of every kind in double precision, one (sample, head) after the other. Tests hold
/// all faster paths against it.
AttentionResult reference_attention(const AttentionRequest& request, const Geometry& geometry,
                                    const Visibility& visibility, const Progress& progress = {});

/// Called with the weights [1,H,count,Lk] of queries `first`…`first + count` − 1.
using TakeRows = std::function<void(std::size_t first, const Tensor& weights)>;

/// A self-attention computed `queries_at_a_time` queries at a time, which bounds the rows of
/// weights held at once. Returns the output [1,L,H·d]. The request has scaled dot products of one
/// sample with tensors [1,L,·] and no past; its mask has causality, window and ALiBi only, aligned
/// upper left.
Tensor attend_by_queries(const AttentionRequest& request, std::size_t queries_at_a_time,
                         const TakeRows& take, const Progress& progress = {});

}  // namespace attn
