#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/pictures.hpp"
#include "attn/plot.hpp"
#include "attn/spec.hpp"
#include "attn/view.hpp"

#include "cli/flags.hpp"

namespace attn::cli {

/// The targets of the flags of pictures: the part of the weights that is drawn, and its look.
struct PictureTargets {
  PlotOptions& options;
  MapSelection& selection;
  std::size_t &sample, &head;
};

/// Adds the flags that choose the part of the weights to draw. `all_heads`: whether --head takes
/// "all", for pictures that show heads side by side.
void add_selection(Flags& flags, const PictureTargets& picture, bool all_heads = true);

/// Adds the flags that choose the part of the weights and the look of the picture.
void add_picture(Flags& flags, const PictureTargets& picture);

void add_dpi(Flags& flags, double& dpi);
void add_figure_size(Flags& flags, std::optional<std::pair<double, double>>& figsize);

/// Adds --pool, the bins of long sequences.
void add_pooling(Flags& flags, std::optional<Pooling>& bins);

/// ".png, .svg or .pdf"
std::string picture_extensions();

/// The range that "LO,HI" of --color-range gives. Throws Error(usage).
ColorRange given_range(const std::string& text);

void add_colour_map(Flags& flags, std::optional<std::string>& target);

/// Adds the flags that choose maps of a file: tensor, axes, layers, labels. --head, which is among
/// the flags already, takes lists and ranges from then on; --heads is its other spelling. If it
/// gives one head, that goes to `head`.
void add_map_source(Flags& flags, MapRequest& request, std::size_t& head);
/// Adds --head, which takes a number, "mean", "max" or, if `all_heads`, "all".
void add_head(Flags& flags, MapSelection& selection, std::size_t& head, bool all_heads,
              const std::string& help);
void add_axes(Flags& flags, std::vector<MapAxis>& axes);
/// Flags of files with maps: the tensor's name, its axes, and labels that take the place of its
/// own.
void add_map_files(Flags& flags, MapRequest& request);
void add_chosen_heads(Flags& flags, std::optional<std::vector<PositionRange>>& heads);
void add_chosen_layers(Flags& flags, std::optional<std::vector<PositionRange>>& layers);

/// Adds the flags about the cells that a page keeps of its maps, and their colours.
void add_view(Flags& flags, ViewOptions& options);

}  // namespace attn::cli
