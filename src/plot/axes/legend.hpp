#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plot/axes/figure.hpp"
#include "plot/canvas/canvas.hpp"

namespace attn::plot {

/// A colour and what it stands for. `stripes` are those of a second colour over it, thin ones for
/// what only tones the first.
struct LegendEntry {
  std::string name;
  Colour colour;
  std::optional<Colour> stripes = {};
  bool thin = false;
};

/// Squares of colour with their names, one below the other.
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
  struct Line {
    Box square;
    PlacedText name;
    Colour colour;
    std::optional<Colour> stripes;
    bool thin;
  };
  std::vector<Line> lines_;
  Box bounds_;
};

/// Stripes of a second colour, as over cells that two things are true of.
void draw_stripes(Canvas& canvas, const std::vector<Box>& boxes, Colour colour,
                  const Figure& figure);

}  // namespace attn::plot
