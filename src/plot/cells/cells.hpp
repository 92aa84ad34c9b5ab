#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plot/canvas/canvas.hpp"
#include "plot/colour/colour.hpp"
#include "plot/colour/colour_scale.hpp"
#include "plot/numbers/matrix.hpp"
#include "plot/numbers/value_format.hpp"
#include "plot/text/text.hpp"

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

/// The pixels that the cells of a matrix are spread over, and how.
struct CellPixels {
  std::size_t width, height;
  Resampling across_by, down_by;
};

/// The colours of `count` rows of those pixels from row `first` on. Where there are more cells than
/// pixels, a pixel shows what colours.pixels says of its cells: of the values, not of their
/// colours, those without a place in the map and hidden ones apart.
PixelRows cell_rows(const Matrix& matrix, const CellColours& colours, const CellPixels& pixels,
                    std::size_t first, std::size_t count);

/// The colours of all of them, row by row.
Pixels cell_pixels(const Matrix& matrix, const CellColours& colours, const CellPixels& pixels);

/// From the smallest to the largest value that any of those pixels shows, where there are more
/// cells than pixels and a pixel shows their mean; nothing if none shows a value.
std::optional<Interval> shown_range(const Matrix& matrix, const CellColours& colours,
                                    std::size_t width, std::size_t height);

/// A cell's value, written in its middle.
struct CellValue {
  PlacedText text;
  Colour colour;
};

/// How the values are to be written into the cells.
struct CellValueOptions {
  Annotate annotate = Annotate::automatic;
  std::optional<Colour> colour;  ///< absent: black, or white on dark cells in the standard style
  /// Absent: what fits the values of this matrix, or two decimals in the
  /// matplotlib style.
  std::optional<ValueFormat> format;
  /// What stands in the place of the values, row by row; null = the values. Texts that do not fit
  /// are shortened.
  const std::vector<std::string>* texts = nullptr;
};

/// A value as it stands in a cell; in the standard style with the names that the key of the colours
/// has.
std::string shown_value(double value, const ValueFormat& format, PlotStyle style);

/// What a picture's options ask of the values.
CellValueOptions value_options(const AnnotationOptions& options);

/// The values, if they are asked for and, unless they are demanded, fit their
/// cells with a line of room above and below. In the standard style they become
/// smaller before they are given up, and hidden cells have none.
std::vector<CellValue> cell_values(const Box& box, const Matrix& matrix, const CellColours& colours,
                                   const CellValueOptions& options, Typesetter& typesetter);

}  // namespace attn::plot
