#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plot/axes/figure.hpp"
#include "plot/canvas/canvas.hpp"

namespace attn::plot {

/// A colour or a line and what it stands for.
struct LegendEntry {
  std::string name;
  Colour colour;
  /// Strokes of a second colour over the first, one over the other; thin ones only tone it.
  std::vector<Canvas::Hatch> hatches = {};
  Colour strokes = {};
  bool thin = false;
  double line_width = 0;            ///< points; a line stands in the place of the square then
  double opacity = 1;               ///< of the line
  std::vector<double> dashes = {};  ///< points; of the line
};

/// Squares of colour, or lines, with their names, one below the other.
class Legend {
 public:
  /// Places the entries with the upper left corner of the first square at `corner`.
  Legend(const std::vector<LegendEntry>& entries, Point corner, Figure& figure);

  /// How wide a legend with these entries is, in pixels.
  static double width(const std::vector<LegendEntry>& entries, Figure& figure);
  /// How much room its entries take below the corner.
  static double height(std::size_t entries, const Figure& figure);

  const Box& bounds() const { return bounds_; }
  void draw(Canvas& canvas, const Figure& figure) const;

 private:
  struct Row {
    Box square;
    PlacedText name;
    LegendEntry entry;
  };
  std::vector<Row> rows_;
  Box bounds_;
};

/// The strokes over cells that a mask hides, one sort for each cause.
void draw_hatches(Canvas& canvas, const std::vector<Box>& boxes,
                  const std::vector<Canvas::Hatch>& hatches, Colour colour, const Figure& figure);

}  // namespace attn::plot
