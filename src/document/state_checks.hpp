#pragma once

#include <string>
#include <vector>

#include "attn/spec.hpp"

#include "attention/geometry.hpp"
#include "document/mask_reader.hpp"
#include "io/json_value.hpp"

namespace attn {

/// Signs that the axes of query and key, which may be absent, were meant in another order than the
/// usual one in which they are read.
std::vector<std::string> layout_warnings(const Sequences& states);

/// Likewise where the document names their order, with the samples and positions before the heads.
std::vector<std::string> swapped_layout_warnings(const Sequences& states);

/// A sign that the slice of a query of the document, `query`, leaves the three parts of a fused
/// [B,L,3,H,D] in place of the positions.
std::vector<std::string> fused_part_warnings(const JsonValue& query, const Sequences& states);

/// A sign that fewer queries than keys were meant to stand at the last keys, where something other
/// than causality depends on their places.
std::vector<std::string> place_warnings(const ReadMask& mask, const AttentionOptions& options,
                                        const Geometry& geometry);

}  // namespace attn
