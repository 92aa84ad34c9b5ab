#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "attn/plot.hpp"
#include "attn/run.hpp"

#include "cli/flags.hpp"

namespace attn::cli {

/// What flags of pictures set: the part of the weights that is drawn, and how.
struct PictureTargets {
  PlotOptions& options;
  MapSelection& selection;
  std::size_t &sample, &head;
};

/// Which part of the weights is drawn; `all_heads` tells whether a picture can show them side by
/// side.
void add_selection(Flags& flags, const PictureTargets& picture, bool all_heads = true);

/// The same, and what shapes the picture.
void add_picture(Flags& flags, const PictureTargets& picture);

void add_dpi(Flags& flags, double& dpi);

/// The bins of long sequences. What a bin holds, a pixel shows of several.
void add_pooling(Flags& flags, std::optional<Pooling>& bins, PixelShows& pixels);

/// ".png, .svg or .pdf"
std::string picture_extensions();

void add_colour_map(Flags& flags, std::optional<std::string>& target);

/// The labels of a file that is drawn, and its tensor that is.
void add_labels(Flags& flags, PlotRequest& request);
void add_tensor_name(Flags& flags, PlotRequest& request, const std::string& verb);

}  // namespace attn::cli
