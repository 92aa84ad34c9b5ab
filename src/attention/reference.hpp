#pragma once

#include "attn/attention.hpp"

#include "attention/geometry.hpp"
#include "attention/visibility.hpp"

namespace attn {

/// The definition of every kind, in double precision, one (sample, head) after the other. All
/// faster paths are held against it.
AttentionResult reference_attention(const AttentionRequest& request, const Geometry& geometry,
                                    const Visibility& visibility);

}  // namespace attn
