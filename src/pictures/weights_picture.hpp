#pragma once

#include <string>
#include <vector>

#include "attn/plot.hpp"
#include "attn/run.hpp"

#include "pictures/selected_map.hpp"

namespace attn {

/// Draws weights as a heatmap (with Heads::all the heads side by side), as a grid or as lines.
Picture draw_weights(PlotKind kind, const SelectedMaps& maps, PlotOptions options,
                     PictureFormat format);

/// One matrix of a tensor whose rows and columns are no queries and keys: positions and dimensions.
/// The labels of the queries name the positions if there are as many. Throws Error(input) for a
/// selection that only keys can have.
Heatmap plain_heatmap(const std::string& name, const SelectedMaps& maps);

/// The names of the axes and the colour bar of such heatmaps, where none are asked for.
void name_plain_axes(PlotOptions& options);

/// Such heatmaps of the tensor's heads side by side; one alone keeps its own title.
Picture draw_plain_tensors(const std::string& name, const std::vector<Heatmap>& heads,
                           PlotOptions options, PictureFormat format);

/// Titled heatmaps of one shape, side by side under one colour scale: those of a file or kind each
/// a column of panels.
Picture draw_comparison(const std::vector<std::vector<Heatmap>>& columns,
                        const PlotOptions& options, PictureFormat format);

}  // namespace attn
