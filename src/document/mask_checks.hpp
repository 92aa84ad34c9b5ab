#pragma once

#include <string>
#include <vector>

#include "attn/spec.hpp"

#include "attention/geometry.hpp"
#include "document/mask_reader.hpp"

namespace attn {

/// Whether settle_mask() has to know the sizes for this mask.
bool depends_on_sizes(const ReadMask& given);

/// Puts what a document gives into the parts of `mask` that mean the same. "keep": one row of keys
/// per sample into `padding`, other truths into `allow` or `block`, and numbers that are added to
/// the scores into `bias`, with a warning. Sequences of queries and keys apart, with causality and
/// window, and valid lengths of queries: into `allow` or `block`. Throws Error(input) at the
/// document's place for what is or fits none of these.
void settle_mask(const ReadMask& given, const Geometry& geometry, Mask& mask,
                 std::vector<std::string>& warnings);

/// The number of rows that the valid lengths of queries leave empty in an attention.
std::size_t rows_beyond(const ReadMask& given, const Geometry& geometry);

/// What in a mask suggests that another one was meant, each with what to write: a shape of which
/// another reading fits too, and numbers that are usual in another part. The mask fits the
/// geometry.
std::vector<std::string> mask_warnings(const ReadMask& given, const Geometry& geometry);

/// Likewise of a query and a key of four axes, which may be absent.
std::vector<std::string> layout_warnings(const Sequences& states);

}  // namespace attn
