#pragma once

#include "attn/file_access.hpp"
#include "attn/run.hpp"

#include "pictures/drawable.hpp"

namespace attn {

/// Reads of a file what the request's kind of picture shows, and the labels given beside it. Throws
/// Error(input) or Error(file) naming the file.
Drawable read_drawable(const PlotRequest& request, const FileAccess& access = {});

}  // namespace attn
