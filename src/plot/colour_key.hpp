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

/// The same for a vector or raster of that many cells: what a pixel stands for, if it stands for
/// several cells; empty if not.
std::string pixel_note(const Matrix& matrix, const Box& box, bool raster, Pool pool);

}  // namespace attn::plot
