#pragma once

#include <span>

#include "attn/plot.hpp"

#include "plot/numbers/matrix.hpp"
#include "plot/numbers/ticks.hpp"

namespace attn::plot {

/// Where a value stands in a range: 0 at its low end, 1 at its high end, by the norm; beyond them
/// less or more. On a logarithmic scale the range is above zero, and values that are not stand at
/// minus infinity.
double position_of(double value, Interval range, const ColorNorm& norm);

/// The values that the colours are spread over: those asked for, else those of all the matrices.
/// The standard style makes them symmetric about zero for a diverging map of values of both signs,
/// and ends a logarithmic scale six decades below the largest value. Throws Error(usage) for a
/// range that is none.
Interval range_of_colours(std::span<const Matrix> matrices, const PlotOptions& options);

}  // namespace attn::plot
