#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plot/canvas/canvas.hpp"
#include "plot/colour/colour.hpp"
#include "plot/numbers/matrix.hpp"
#include "plot/numbers/ticks.hpp"
#include "plot/text/text.hpp"

namespace attn::plot {

/// Form of cells in a vector format, so that the file's size follows what can be seen: rectangles
/// where they are few, otherwise an image in which a pixel may show several cells.
struct CellsInFile {
  std::size_t most_across = 512;  ///< pixels of the image along an axis, at most
  bool as_image = false;
};

/// The form of cells in a figure of `maps` maps, each of `rows` × `columns` cells.
CellsInFile cells_in_file(std::size_t maps, std::size_t rows, std::size_t columns);

/// Colours for the values of a matrix.
struct CellColours {
  CellColours() = default;
  CellColours(const ColourScale& scale, const ColorOptions& options, const FigureOptions& figure,
              const Paper& on, const CellsInFile& cells_in_file = {});

  const ColourMap* map = nullptr;  ///< of the scale, which outlives this
  Interval range;
  PlotStyle style = PlotStyle::standard;
  ColorNorm norm;
  bool norm_chosen = false;  ///< as of the scale
  PixelShows pixels = PixelShows::mean;
  std::size_t threads = 0;  ///< 0 = as many as the machine has; never changes a colour
  Paper paper;
  CellsInFile in_file;

  /// The colour of a value. NaN, the infinities and, on a logarithmic scale, numbers that are not
  /// positive have colours of their own, one for all of them in the matplotlib style.
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

/// Pixels that the cells of a matrix are spread over, and the resampling along both axes.
struct CellPixels {
  std::size_t width, height;
  Resampling across_by, down_by;
};

/// Colours of `count` rows of these pixels from row `first` on. Where there are more cells than
/// pixels, a pixel shows the mean or the largest of their values, as colours.pixels says, without
/// hidden cells and values that have no place in the map.
PixelRows cell_rows(const Matrix& matrix, const CellColours& colours, const CellPixels& pixels,
                    std::size_t first, std::size_t count);

/// Colours of all rows of these pixels.
Pixels cell_pixels(const Matrix& matrix, const CellColours& colours, const CellPixels& pixels);

/// Smallest and largest value that a pixel shows where a matrix is spread over `width` × `height`
/// pixels, each of which shows the mean of its cells; nothing if none shows a value.
std::optional<Interval> shown_range(const Matrix& matrix, const CellColours& colours,
                                    std::size_t width, std::size_t height);

/// Whether cells in this box are large enough for the hatches of hidden and missing ones.
bool are_hatched(const Box& box, const Matrix& matrix, double pixels_per_point);

/// A cell's value, written in its middle.
struct CellValue {
  PlacedText text;
  Colour colour;
  double size = 0;  ///< points of its letters, before their scale
};

/// Form of the values that are written into cells.
struct CellValueOptions {
  Annotate annotate = Annotate::automatic;
  std::optional<Colour> colour;  ///< absent: black, or white on dark cells in the standard style
  /// Absent: fitting_format() of this matrix, or two decimals in the matplotlib style.
  std::optional<ValueFormat> format;
  double most_size = 10;     ///< points of the letters, before their scale
  bool next_to_bar = false;  ///< whether a bar names the power of ten of small numbers
  /// Texts in the place of the values, row by row; null = the values. Texts that do not fit are
  /// shortened.
  const std::vector<std::string>* texts = nullptr;
};

/// Text of a value in a cell. In the standard style NaN and infinities are written as in the key of
/// the colours.
std::string shown_value(double value, const ValueFormat& format, PlotStyle style);

/// The form of values that options ask for. Throws Error(usage) for a colour or format that is
/// none.
CellValueOptions value_options(const AnnotationOptions& options);

/// Values at their places in a map's box. There are none where they are not asked for or, unless
/// they are demanded, do not fit their cells with a line of room above and below. In the standard
/// style letters become smaller first, and hidden cells have no values.
std::vector<CellValue> cell_values(const Box& box, const Matrix& matrix, const CellColours& colours,
                                   const CellValueOptions& options, Typesetter& typesetter);

}  // namespace attn::plot
