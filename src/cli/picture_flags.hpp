#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/pictures.hpp"
#include "attn/plot.hpp"
#include "attn/spec.hpp"

#include "cli/flags.hpp"

namespace attn::cli {

/// The targets of the flags of pictures: the part of the weights that is drawn, and its look.
struct PictureTargets {
  PlotOptions& options;
  MapSelection& selection;
  std::size_t &sample, &head;
};

/// Has the help of the flags that only some kinds of pictures honour say which.
void name_kinds(Flags& flags);

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

/// All flags of the command plot that say what is drawn and how.
Flags plot_flags(PlotRequest& request);

/// Reads the figure that the request's input describes in JSON, and applies the flags that are
/// given on the command line after those of the file. Throws Error naming the place in the file.
void read_figure(const std::vector<FigureFile::Option>& given, PlotRequest& request);

}  // namespace attn::cli
