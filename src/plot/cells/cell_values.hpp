#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plot/cells/cells.hpp"
#include "plot/numbers/matrix.hpp"
#include "plot/numbers/value_format.hpp"
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
  /// Absent: what fits the values of this matrix, or two decimals in the
  /// matplotlib style.
  std::optional<ValueFormat> format;
  /// What stands in the place of the values, row by row; null = the values. Texts that do not fit
  /// are shortened.
  const std::vector<std::string>* texts = nullptr;
};

/// A value as it stands in a cell; in the standard style with the names that the key of the colours
/// has.
std::string shown_value(double value, const ValueFormat& format, PlotStyle style);

/// What a picture's options ask of the values.
CellValueOptions value_options(const AnnotationOptions& options);

/// The values, if they are asked for and, unless they are demanded, fit their
/// cells with a line of room above and below. In the standard style they become
/// smaller before they are given up, and hidden cells have none.
std::vector<CellValue> cell_values(const Box& box, const Matrix& matrix, const CellColours& colours,
                                   const CellValueOptions& options, Typesetter& typesetter);

}  // namespace attn::plot
