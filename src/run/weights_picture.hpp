#pragma once

#include <string>
#include <vector>

#include "attn/plot.hpp"
#include "attn/run.hpp"

#include "run/selected_map.hpp"

namespace attn {

/// Draws weights as a heatmap (with Heads::all the heads side by side), as a grid or as lines.
Picture draw_weights(PlotKind kind, const SelectedMaps& maps, PlotOptions options,
                     PictureFormat format);

/// A tensor whose rows and columns are no queries and keys: positions and dimensions. The labels of
/// the queries name the positions if there are as many.
Picture draw_plain_tensor(const std::string& name, const SelectedMaps& maps, PlotOptions options,
                          PictureFormat format);

/// Titled heatmaps of one shape, side by side under one colour scale: those of a file or kind each
/// a column of panels.
Picture draw_comparison(const std::vector<std::vector<Heatmap>>& columns,
                        const PlotOptions& options, PictureFormat format);

}  // namespace attn
