#pragma once

#include <string>
#include <string_view>

#include "attn/tensor.hpp"

namespace attn {

/// The part of a tensor that NumPy's basic indexing takes: `slice` holds one entry per axis between
/// commas, "0, :, 64:128". A whole number takes one part of its axis, which goes; "first:end:step"
/// takes several, each of the three of which may be left out; negative numbers count from the end,
/// and a negative step goes backwards; one "..." stands for all axes that are not named, which
/// otherwise are the last ones. Brackets around the whole are passed over. Elements are shared
/// where they lie together, else copied; a shape alone stays one. Throws Error(input) at `where`
/// for a slice that cannot be read, does not fit the shape or leaves no element or no axis.
Tensor sliced(const Tensor& tensor, std::string_view slice, const std::string& where);

}  // namespace attn
