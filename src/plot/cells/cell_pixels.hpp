#pragma once

#include <optional>

#include "plot/cells/cells.hpp"
#include "plot/numbers/resampling.hpp"

namespace attn::plot {

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

}  // namespace attn::plot
