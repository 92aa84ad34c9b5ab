#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plot/axes/axes.hpp"
#include "plot/axes/figure.hpp"
#include "plot/cells/cells.hpp"
#include "plot/numbers/matrix.hpp"

namespace attn::plot {

/// The most values that are named in a figure.
inline constexpr std::size_t most_named_values = 5;

/// Number of the first of these values, the largest first, that are well above the next: at most
/// most_named_values, 0 where all are nearly tied.
std::size_t count_of_strongest(std::span<const double> largest_first);

/// A remark on a cell of a map, "it → tired 0.61", with a line from it to the cell.
struct Callout {
  Box box;  ///< around the text
  PlacedText text;
  Point from, to;
};

/// Remarks on the strongest three to five cells of weights in a map's box, each beside its cell
/// where it covers least; fewer where others are nearly as strong.
std::vector<Callout> callouts_on(const Box& map, const Matrix& matrix, const MapTicks& names,
                                 Figure& figure);

void draw_callouts(Canvas& canvas, const std::vector<Callout>& callouts, const Figure& figure);

}  // namespace attn::plot
