#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attn/plot.hpp"

#include "plot/axes/figure.hpp"

namespace attn::plot {

/// A figure on a sheet of several.
struct SheetPanel {
  std::string letter;  ///< in bold at its upper left corner; empty = none
  double share = 1;    ///< of the width of its row
  /// Draws it with FigureOptions::panel at this place. It is called several times, before the last
  /// one only to be measured; colours are spread over the range that is given.
  std::function<Picture(Panel& panel, const std::optional<Interval>& colours)> draw;
  std::string name = {};  ///< in warnings; empty = none is made
};

/// Figures of any kind in rows, on one piece of paper.
struct Sheet {
  std::vector<std::vector<SheetPanel>> rows;  ///< none is empty
  bool one_scale = false;                     ///< whether colours of all panels have one range
  /// Whether heatmaps whose colours mean the same have one bar and one key right of all panels.
  bool shared_bar = false;
  /// Whether maps of as many rows and columns, in panels as wide, are of one size.
  bool equal_maps = false;
  std::string title;                          ///< of the file, which no letter shows
  std::string heading = {};                   ///< above all panels; empty = none
};

/// Draws all panels with letters of one size, as wide as FigureOptions::figsize says, by default
/// 7.2 inches, and as high as that or, where it is 0, as the panels need. Warnings, captions and
/// descriptions are those of the panels, with their letters.
Picture draw_sheet(const Sheet& sheet, const FigureOptions& options, PictureFormat format);

}  // namespace attn::plot
