#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "attn/plot.hpp"

#include "plot/colour/colour.hpp"
#include "plot/numbers/matrix.hpp"
#include "plot/numbers/ticks.hpp"

namespace attn::plot {

/// Position of a value in a range by the norm: 0 at the low end, 1 at the high end, less or more
/// beyond them. On a logarithmic scale the range is above zero, and values that are not positive
/// stand at minus infinity.
double position_of(double value, Interval range, const ColorNorm& norm);

/// The colours of some matrices, and the values that they are spread over.
struct ColourScale {
  ColourMap map;
  Interval range;
  bool beyond_low = false, beyond_high = false;  ///< whether values lie outside a range asked for
  /// Keys that each query sees, where every row of weights sums to 1 over as many keys; otherwise
  /// 0.
  std::size_t keys_of_rows = 0;
  bool whole_rows = false;  ///< whether every row sums to 1
};

/// The scale that options ask for, or the usual one of weights or of other numbers that
/// ColorOptions::cmap and ColorRange describe; a logarithmic one ends six decades below the largest
/// value. Throws Error(usage) for an impossible range and for an unknown map.
ColourScale colour_scale(std::span<const Matrix> matrices, bool weights,
                         const ColorOptions& options, const FigureOptions& figure);

/// Shortens a range that begins at zero, or has it in its middle, to the values shown, where pixels
/// show the means of many cells. Returns whether the range is of one of these kinds.
bool narrow_to_shown(Interval& range, Interval shown);

}  // namespace attn::plot
