#pragma once

#include <span>
#include <string>
#include <vector>

#include "attn/plot.hpp"

#include "plot/colour/colour.hpp"
#include "plot/numbers/matrix.hpp"
#include "plot/numbers/ticks.hpp"

namespace attn::plot {

/// Where a value stands in a range: 0 at its low end, 1 at its high end, by the norm; beyond them
/// less or more. On a logarithmic scale the range is above zero, and values that are not stand at
/// minus infinity.
double position_of(double value, Interval range, const ColorNorm& norm);

/// The colours of some matrices, and the values that they are spread over.
struct ColourScale {
  ColourMap map;
  Interval range;
  bool beyond_low = false, beyond_high = false;  ///< whether values lie outside a range asked for
};

/// What is asked for, or else what ColorOptions::cmap and ColorRange say of weights and of other
/// numbers; a logarithmic scale ends six decades below the largest value. Throws Error(usage) for a
/// range that is none and for an unknown map.
ColourScale colour_scale(std::span<const Matrix> matrices, bool weights,
                         const ColorOptions& options, const FigureOptions& figure);

/// Gives a range that begins at zero, or has it in its middle, the length of what is shown of it,
/// where pixels show the means of many cells. Returns whether that changed it.
bool narrow_to_shown(Interval& range, Interval shown);

}  // namespace attn::plot
