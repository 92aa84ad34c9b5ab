#pragma once

#include "attn/file_access.hpp"
#include "attn/run.hpp"

#include "pictures/drawable.hpp"

namespace attn {

/// Reads of a file what the request's kind of picture shows, and the labels given beside it. Throws
/// Error(input) or Error(file) naming the file.
/// The same for each layer of the sort of attention that is wanted, where the file has several and
/// the request names no tensor.
std::vector<Drawable> read_layers(const PlotRequest& request, const FileAccess& access);

Drawable read_drawable(const PlotRequest& request, const FileAccess& access = {});

/// The maps of all steps of decoding that a file holds, of growing length: those whose names differ
/// from that of the tensor that is wanted in numbers alone (but not in a layer's), in the order of
/// the numbers.
std::vector<Drawable> read_steps(const PlotRequest& request, const FileAccess& access);

}  // namespace attn
