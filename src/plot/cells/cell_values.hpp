#pragma once

#include <optional>
#include <vector>

#include "plot/cells/cells.hpp"
#include "plot/numbers/matrix.hpp"
#include "plot/text/text.hpp"

namespace attn::plot {

/// A cell's value, written in its middle.
struct CellValue {
  PlacedText text;
  Colour colour;
};

/// How the values are to be written into the cells.
struct CellValueOptions {
  Annotate annotate = Annotate::automatic;
  std::optional<Colour> colour;  ///< absent: black, or white on dark cells in the standard style
};

/// The values to two decimals, if they are asked for and, unless they are demanded, fit their
/// cells. In the standard style they become smaller before they are given up, and hidden cells have
/// none.
std::vector<CellValue> cell_values(const Box& box, const Matrix& matrix, const CellColours& colours,
                                   const CellValueOptions& options, Typesetter& typesetter);

}  // namespace attn::plot
