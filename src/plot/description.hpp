#pragma once

#include <span>
#include <string>
#include <vector>

#include "plot/axes/legend.hpp"
#include "plot/colour/colour_scale.hpp"
#include "plot/numbers/matrix.hpp"

namespace attn::plot {

/// What pictures show, in words: "6 queries × 6 keys", "3 positions × 8 dimensions".
std::string described_cells(const Matrix& matrix, bool of_positions = false);

/// "Values from 0.01 to 0.53, coloured from 0 to 0.53. Told apart: hidden, NaN."
std::string described_colours(std::span<const Matrix> matrices, const ColourScale& scale,
                              const std::vector<LegendEntry>& key);

}  // namespace attn::plot
