#pragma once

#include <span>

#include "plot/canvas/canvas.hpp"
#include "plot/colour/colour_map.hpp"
#include "plot/colour/colour_scale.hpp"
#include "plot/numbers/matrix.hpp"

namespace attn::plot {

/// How the values of a matrix are coloured.
struct CellColours {
  const ColourMap* map = nullptr;
  Interval range;
  PlotStyle style = PlotStyle::standard;
  ColorNorm norm;
  PixelShows pixels = PixelShows::mean;
  std::size_t threads = 0;  ///< 0 = as many as the machine has; never changes a colour

  /// NaN, the infinities and, on a logarithmic scale, what is not positive have colours of their
  /// own, one for all of them in the matplotlib style.
  Colour of(double value) const;
  /// Whether a value has a place in the colour map.
  bool has_place(double value) const;
  Colour of_no_place(double value) const;
  /// Whether hidden cells are told apart.
  bool shows_hidden(const Matrix& matrix) const;
};

/// The colour under the hatching of cells that a mask hides.
inline constexpr Colour hidden_colour = {240, 240, 240};
/// The colour of the hatching.
inline constexpr Colour hidden_hatch = {205, 205, 205};
/// So many rectangles of a vector format an axis has at most: of more cells each shows several.
inline constexpr std::size_t most_rectangles = 512;

/// Draws the cells of a matrix, row 0 on top, so that they fill the box. Where a raster has fewer
/// pixels than cells, a pixel shows the mean of its cells or their largest value.
void draw_cells(Canvas& canvas, const Box& box, const Matrix& matrix, const CellColours& colours,
                double pixels_per_point);

}  // namespace attn::plot
