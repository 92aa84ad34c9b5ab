#pragma once

#include <string>
#include <vector>

#include "attn/plot.hpp"

#include "plot/axes/axes.hpp"
#include "plot/axes/figure.hpp"
#include "plot/canvas/canvas.hpp"
#include "plot/numbers/matrix.hpp"

namespace attn::plot {

/// What the finite cells of each column and of each row add up to, hidden and missing ones apart.
struct MarginalSums {
  std::vector<double> columns, rows;
};
MarginalSums marginal_sums(const Matrix& matrix);

/// Bars of these sums above a map and beside it.
class Marginals {
 public:
  /// `map_texts` are those around the map; names of values that would run into them are left out.
  /// The title stands above all.
  Marginals(const MarginalSums& sums, const Box& map, const Decorations& map_texts,
            const std::string& title, bool labelled, const FigureOptions& options, Figure& figure);

  /// The part of a place that is left to the map.
  static Box map_place(const Box& place, const Figure& figure);

  /// The right end of the bars beside the map.
  double right() const { return beside_.axes.box.right; }
  Box bounds(Box Decorations::*of) const;
  void draw(Canvas& canvas, const Figure& figure) const;

 private:
  struct Bars {
    Axes axes;
    Decorations decorations;
    std::vector<Box> bars;
  };
  Bars above_, beside_;
};

}  // namespace attn::plot
