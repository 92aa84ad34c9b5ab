#pragma once

#include <vector>

#include "attn/file_access.hpp"
#include "attn/run.hpp"

#include "maps/attention_map.hpp"

namespace attn {

/// Reads of the request's files what its kind of picture shows, and the labels given beside them:
/// one drawable, or of a kind that shows all layers one a layer. Throws Error(input) or Error(file)
/// naming the file.
std::vector<Drawable> read_drawables(const PlotRequest& request, const FileAccess& access = {});

}  // namespace attn
