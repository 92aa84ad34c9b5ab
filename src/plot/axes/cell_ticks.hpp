#pragma once

#include <string>
#include <vector>

#include "plot/axes/axes.hpp"
#include "plot/axes/figure.hpp"

namespace attn::plot {

/// The labels of a heatmap's axes as they are shown; lists that are not given stay empty. Tokens
/// are made readable but for the matplotlib style, which shows them as they are.
struct ShownLabels {
  std::vector<std::string> query, key;
};
ShownLabels shown_labels(const Heatmap& heatmap, const FigureOptions& options);

/// The labels given or, if there are none, the prefix with numbers: "K_1", "K_2", … for cells that
/// count from `first` = 0.
std::vector<std::string> labels_or(const std::vector<std::string>& given, const char* prefix,
                                   std::size_t count, std::size_t first = 0);

/// What the cells along one axis of a heatmap are to be called.
struct CellTicks {
  std::vector<std::string> labels;  ///< one a cell
  Ticks ticks = Ticks::automatic;
  PlotStyle style = PlotStyle::standard;
  std::size_t first = 0;       ///< the index of the first cell
  std::size_t least_step = 1;  ///< cells from one tick to the next, in the standard style
};

/// Gives an axis that shows cells over `length` pixels its ticks. In the standard style the labels
/// of a horizontal axis turn before they collide, those of either axis thin out before they overlap
/// (unless all are asked for), and long ones are shortened; in the matplotlib style labels
/// stay as they are, thin out where they would overlap, and give way to indices where there are so
/// many that they would be unreadable.
/// Returns how many cells there are from one to the next.
std::size_t set_cell_ticks(Axis& axis, const CellTicks& ticks, double length, bool horizontal,
                           Figure& figure);

/// Both axes of an axes at once: where they name the same cells, they thin out alike. Returns how
/// many cells there are from one label to the next, at most.
std::size_t set_cell_ticks(Axes& axes, const CellTicks& key, const CellTicks& query,
                           Figure& figure);

}  // namespace attn::plot
