#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plot/axes/figure.hpp"
#include "plot/axes/legend.hpp"
#include "plot/cells/cells.hpp"

namespace attn::plot {

/// What is looked at beside a colour bar: the cells that have no colour on it, each sort that there
/// is with its name, NaN, infinities, hidden cells and, on a logarithmic scale, zeros. None in the
/// matplotlib style.
std::vector<LegendEntry> colour_key(std::span<const Matrix> matrices, const CellColours& colours);

/// Whether a pixel of a raster, or of the image in a vector format, stands for several cells.
bool shares_pixels(const Matrix& matrix, const Box& box, bool raster, const CellsInFile& in_file);
/// What it stands for then: "mean of up to 7 × 7 cells a pixel"; empty if it shows one cell.
std::string pixel_note(const Matrix& matrix, const Box& box, bool raster,
                       const CellColours& colours);

}  // namespace attn::plot
