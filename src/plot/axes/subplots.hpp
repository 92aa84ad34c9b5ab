#pragma once

#include <vector>

#include "plot/text/box.hpp"

namespace attn::plot {

/// The part of a figure that its axes share, before anything is written around them: matplotlib's
/// default margins.
Box default_subplot_area(double width, double height);

/// The area that leaves the texts around `area` as much room as they took beyond it, plus a margin
/// of `pad` pixels at the figure's edges: matplotlib's tight_layout. The area itself if the texts
/// leave no room for it.
Box tight_subplot_area(const Box& area, const Box& decorated, double width, double height,
                       double pad);

/// The room between neighbouring places, in pixels.
struct Gaps {
  double across = 0, down = 0;
};

/// `rows` × `columns` places of equal size within the area, row by row, a fifth of a place apart or
/// as far as `least` asks, unless that left the places no room.
std::vector<Box> subplot_places(const Box& area, std::size_t rows, std::size_t columns,
                                const Gaps& least = {});

/// The area split into a part for the axes and a part for the colour bar on its right.
struct ColourBarSplit {
  Box axes, colour_bar;
};
ColourBarSplit split_for_colour_bar(const Box& area);

/// The height of a map with square cells to its width, within bounds: what is very long or very
/// wide has other cells.
double aspect_of(std::size_t rows, std::size_t columns);

/// The largest box at the right of `place` whose cells are square, or `place` if that had less than
/// half its area.
Box with_square_cells(const Box& place, std::size_t rows, std::size_t columns);

/// The largest box within `place` that is `height_to_width` times as high as wide, at the height's
/// middle and, in the width, at `anchor`: 0 left, 1 right.
Box with_aspect(const Box& place, double height_to_width, double anchor);

}  // namespace attn::plot
