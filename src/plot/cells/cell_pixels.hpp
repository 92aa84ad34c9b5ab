#pragma once

#include <optional>

#include "plot/cells/cells.hpp"
#include "plot/numbers/resampling.hpp"

namespace attn::plot {

/// The colours of `width` × `height` pixels that the cells of a matrix are spread over. Where there
/// are more cells than pixels, a pixel shows what colours.pixels says of its cells: of the values,
/// not of their colours, those without a place in the map and hidden ones apart.
Pixels cell_pixels(const Matrix& matrix, const CellColours& colours, std::size_t width,
                   std::size_t height, Resampling across_by, Resampling down_by);

/// From the smallest to the largest value that any of those pixels shows, where there are more
/// cells than pixels and a pixel shows their mean; nothing if none shows a value.
std::optional<Interval> shown_range(const Matrix& matrix, const CellColours& colours,
                                    std::size_t width, std::size_t height);

}  // namespace attn::plot
