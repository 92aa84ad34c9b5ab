#pragma once

#include <cstddef>
#include <string>

#include "attn/plot.hpp"

#include "plot/axes/axes.hpp"
#include "plot/axes/cell_ticks.hpp"
#include "plot/axes/figure.hpp"

namespace attn::plot {

/// What stands around a map of queries × keys.
struct MapTexts {
  std::string title;
  const CellTicks &query, &key;
  bool titled = true, labelled = true, ticked = true;  ///< false: it gave way to the map
};

/// The axes of the only map of a figure, in its box.
Axes map_axes(const Box& box, const MapTexts& texts, const FigureOptions& options, Figure& figure);

/// Where such a map stands in its place. Its cells are square, unless that would leave too much of
/// the figure empty; in the matplotlib style they fill the place.
Box map_box(const Box& place, std::size_t rows, std::size_t columns, PlotStyle style);

}  // namespace attn::plot
