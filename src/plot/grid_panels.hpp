#pragma once

#include <string>
#include <vector>

#include "attn/plot.hpp"

#include "plot/numbers/matrix.hpp"

namespace attn::plot {

/// The grid with a row of many panels in several rows.
HeatmapGrid wrapped(const HeatmapGrid& grid, const GridOptions& options);

/// The panels' weights. Throws Error(input) if they do not fill the grid or differ in shape.
std::vector<Matrix> matrices_of(const HeatmapGrid& grid);

/// One title a panel, empty where none stands above it. Throws Error(usage) for titles that do not
/// match the columns.
std::vector<std::string> titles_of(const HeatmapGrid& grid, const GridOptions& options);

/// What stands before the numbers of titles that differ in nothing else, "Head " of "Head 1" and
/// "Head 2"; empty if there is nothing such.
std::string common_prefix(const std::vector<std::string>& titles);

}  // namespace attn::plot
