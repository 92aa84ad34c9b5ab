#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/error.hpp"

#include "plot/axes/axes.hpp"
#include "plot/axes/keys.hpp"

namespace attn::plot {

/// Words of the program's own, as a sentence where FigureOptions::sentence_case asks for it. What
/// is quoted, and words with other capital letters, stay.
std::string own_words(const FigureOptions& options, std::string text);

/// Title of a figure: the one asked for, its own, or `usual`, which is translated.
std::string title_of(const FigureOptions& options, const std::string& own, const char* usual);

/// The error of titles that are fewer or more than the columns that they are given for.
Error unlike_columns(std::size_t titles, std::size_t columns);

/// Names of a chart and of its axes, before they are fitted to it. Empty = none.
struct ChartTexts {
  std::string title, xlabel, ylabel;
};

/// Texts of a map of queries × keys. A narrow figure has short ones, and no title of its own.
ChartTexts map_texts(const FigureOptions& options, const std::string& own_title,
                     const char* usual_title, const Figure& figure);

/// The box of a map in its place. Its cells are square, unless that would leave too much of the
/// figure empty; in the matplotlib style they fill the place.
Box map_box(const Box& place, std::size_t rows, std::size_t columns, const Figure& figure);

/// The axes of the only chart of a figure, in its box and without ticks, with the texts that are
/// shown.
Axes chart_axes(const Box& box, const ChartTexts& texts, const Shown& shown, Figure& figure);

/// The values that the axes of a chart show, and their places in its box.
struct View {
  Interval x, y;

  double across(const Box& box, double value) const {
    return box.left + (value - x.low) / (x.high - x.low) * box.width();
  }
  double down(const Box& box, double value) const {
    return box.bottom - (value - y.low) / (y.high - y.low) * box.height();
  }
};

/// Everything of a figure at its place but what its chart itself shows. Sizes are in pixels.
struct Arrangement {
  Box place;  ///< room that the chart could have had
  Axes axes;
  Decorations decorations;
  std::optional<ColourBar> bar;
  std::optional<Legend> legend;

  /// The box around all; `of` is bounds or layout_bounds.
  Box bounds(Box Decorations::*of = &Decorations::bounds) const;
  /// Draws the frame with the texts around it, then what `over` draws, then bar and legend.
  void draw(Canvas& canvas, const Figure& figure, const std::function<void()>& over = {}) const;
};

/// Makes an arrangement in an area of a figure. `measured`: only the room that its texts take is
/// wanted.
using LayOut =
    std::function<Arrangement(Figure& figure, const Box& area, const Shown& shown, bool measured)>;

/// The arrangement whose texts leave its chart enough room and for which `fits` holds. Parts are
/// left out in `order` until there is one. `revised`, if given, may then change the data that
/// `lay_out` reads and returns whether it did, so that all is laid out once more.
Arrangement arranged(Figure& figure, std::span<const Part> order, const LayOut& lay_out,
                     const std::function<bool(const Arrangement&)>& fits = {},
                     const std::function<bool(const Arrangement&)>& revised = {});

/// The area without the room that a legend right of it takes, `gap` pixels away; at least
/// `least_width` pixels wide.
Box beside_legend(Box area, const std::vector<LegendEntry>& entries, double gap, double least_width,
                  Figure& figure);

/// The arrangement of the only chart of a figure with its legend, if it has entries, right of it.
/// The chart keeps at least `least_share` of the figure's width. `set_ticks` gives its axes, whose
/// box is known, their ticks; `fits` is that of arranged().
Arrangement arranged_beside_legend(Figure& figure, const ChartTexts& texts,
                                   const std::vector<LegendEntry>& entries, double least_share,
                                   const std::function<void(Axes& axes, Figure& figure)>& set_ticks,
                                   const std::function<bool(const Arrangement&)>& fits = {});

}  // namespace attn::plot
