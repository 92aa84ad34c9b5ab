#pragma once

#include <span>

#include "plot/canvas/canvas.hpp"
#include "plot/colour/colour_map.hpp"
#include "plot/colour/colour_scale.hpp"
#include "plot/colour/paper.hpp"
#include "plot/numbers/matrix.hpp"

namespace attn::plot {

/// How a vector format holds cells, so that its size follows what can be seen: as rectangles where
/// they are few, otherwise as an image of at most so many pixels along an axis, of which each shows
/// several cells where there are more.
struct CellsInFile {
  std::size_t most_across = 512;
  bool as_image = false;
};

/// For a figure with so many maps of so many cells each.
CellsInFile cells_in_file(std::size_t maps, std::size_t rows, std::size_t columns);

/// Colours for the values of a matrix.
struct CellColours {
  CellColours() = default;
  CellColours(const ColourScale& scale, const ColorOptions& options, const FigureOptions& figure,
              const Paper& on, const CellsInFile& cells_in_file = {});

  const ColourMap* map = nullptr;
  Interval range;
  PlotStyle style = PlotStyle::standard;
  ColorNorm norm;
  PixelShows pixels = PixelShows::mean;
  std::size_t threads = 0;  ///< 0 = as many as the machine has; never changes a colour
  Paper paper;
  CellsInFile in_file;

  /// NaN, the infinities and, on a logarithmic scale, what is not positive have colours of their
  /// own, one for all of them in the matplotlib style.
  Colour of(double value) const;
  /// Whether a value has a place in the colour map.
  bool has_place(double value) const;
  Colour of_no_place(double value) const;
  /// Whether hidden cells are told apart.
  bool shows_hidden(const Matrix& matrix) const;
};

/// Draws the cells of a matrix, row 0 on top, so that they fill the box. Where a raster has fewer
/// pixels than cells, a pixel shows the mean of its cells or their largest value.
void draw_cells(Canvas& canvas, const Box& box, const Matrix& matrix, const CellColours& colours,
                double pixels_per_point);

}  // namespace attn::plot
