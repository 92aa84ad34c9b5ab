#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/spec.hpp"

#include "attention/geometry.hpp"
#include "document/tensor_source.hpp"
#include "io/json_value.hpp"

namespace attn {

/// A list of positions, as an array or a tensor of one axis.
std::vector<std::size_t> read_positions(const JsonValue& value, const std::string& pointer,
                                        TensorSource& tensors);

/// Places where packed sequences begin and the last one ends, one list for all samples or one per
/// sample, in the form that kernels take: [0,5,9] are sequences of five and of four. Empty = not
/// given.
using SequenceEnds = std::vector<std::vector<std::size_t>>;

/// Reads them, from arrays or a tensor of one or two axes. Throws Error(input) if they do not rise
/// from 0.
SequenceEnds read_sequence_ends(const JsonValue& value, const std::string& place,
                                TensorSource& tensors);

/// Ids of the keys by their sequences, int64 [Lk] or [B,Lk]: [0,5,9] gives five keys the id 0 and
/// four the id 1. Throws Error(input) if samples have other numbers of keys.
Tensor sequence_ids(const SequenceEnds& ends, const std::string& place);

/// The keys that queries see of their own sequence, bool in the rank of the weights, where queries
/// and keys are packed apart. Causality and window of the mask count from the beginning of each
/// sequence, or with Alignment::lower_right from its end. Throws Error(input) at `place` for
/// sequences that do not fit each other or the sizes.
Tensor seen_within_sequences(const SequenceEnds& of_queries, const SequenceEnds& of_keys,
                             const Mask& mask, const Geometry& geometry, const std::string& place);

}  // namespace attn
