#pragma once

#include "attn/file_access.hpp"
#include "attn/run.hpp"

#include "maps/attention_map.hpp"

namespace attn {

/// The encoding of positions [L,D]: of an input document what it adds to its embedded tokens,
/// sinusoidal or learned by its model, as many as it reads; of another file the tensor that is
/// named, or its only one. Throws Error(input) naming the file, or the field, if there is none.
Drawable read_positions(const PlotRequest& request, const FileAccess& access);

}  // namespace attn
