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

/// The targets of a flag that chooses along an axis of maps: how they are shown, which, and the
/// number of a single one.
struct ShownTargets {
  MapSelection::Shown& shown;
  std::optional<std::vector<PositionRange>>& chosen;
  std::size_t& number;
};

/// The targets of the flags that choose the part of the weights.
struct SelectionTargets {
  MapSelection& selection;
  std::size_t &sample, &head;
};

/// The targets of the flags of pictures: the part of the weights that is drawn, and its look.
struct PictureTargets {
  PlotOptions& options;
  MapSelection& selection;
  std::size_t &sample, &head;
};

/// Adds the flags that choose the part of the weights to use. `all`: whether --sample and --head
/// offer "all", for what shows several maps.
void add_selection(Flags& flags, const SelectionTargets& targets, bool all = true);
/// Adds --hide-mask, for what shows the cells of maps.
void add_hide_mask(Flags& flags, MapSelection& selection);

/// Lets --heads, the number of heads that tensors of a document are split into, choose heads of
/// existing maps too: a number is either, which the library tells apart; another text is a choice.
void let_heads_choose(Flags& flags);

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

/// Adds the flags that choose maps of a file: tensor, sizes, axes, layers, labels.
void add_map_source(Flags& flags, MapRequest& request);
/// Adds a flag that chooses along an axis: numbers, ranges, "mean", "max" or, if `all`, "all".
Flag& add_shown(Flags& flags, const std::string& name, const std::string& help,
                const ShownTargets& targets, bool all = true);

}  // namespace attn::cli
