#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

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

/// "LO,HI" of --color-range. Throws Error(usage).
ColorRange given_range(const std::string& text);

void add_colour_map(Flags& flags, std::optional<std::string>& target);

/// Which maps of a file are taken: tensors, axes, layers, heads, and their labels. A single one of
/// --heads goes to `head`.
void add_map_source(Flags& flags, PlotRequest& request, std::size_t& head);
/// --head, which takes a number or what to make of all.
void add_head(Flags& flags, MapSelection& selection, std::size_t& head, bool all_heads,
              const std::string& help);
void add_axes(Flags& flags, std::vector<MapAxis>& axes);
void add_chosen_heads(Flags& flags, std::optional<std::vector<PositionRange>>& heads);
void add_chosen_layers(Flags& flags, std::optional<std::vector<PositionRange>>& layers);

}  // namespace attn::cli
