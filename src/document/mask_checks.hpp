#pragma once

#include <string>
#include <vector>

#include "attn/spec.hpp"

#include "attention/geometry.hpp"
#include "document/mask_reader.hpp"

namespace attn {

/// Puts what a document gives as "keep" into the part of `mask` that means the same: one row of
/// keys per sample into `padding`, other truths into `allow` or `block`, and numbers that are added
/// to the scores into `bias`, with a warning. Throws Error(input) at the document's place for a
/// shape or numbers that are none of these.
void settle_keep(const ReadMask& given, const Geometry& geometry, Mask& mask,
                 std::vector<std::string>& warnings);

/// What in a mask suggests that another one was meant, each with what to write: a shape of which
/// another reading fits too, and numbers that are usual in another part. The mask fits the
/// geometry.
std::vector<std::string> mask_warnings(const ReadMask& given, const Geometry& geometry);

/// Likewise of a query and a key of four axes, which may be absent.
std::vector<std::string> layout_warnings(const Sequences& states);

}  // namespace attn
