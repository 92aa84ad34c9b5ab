#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/plot.hpp"

#include "plot/text/box.hpp"
#include "plot/text/text.hpp"

namespace attn::plot {

struct Tick {
  double position = 0;  ///< from 0, the left or the bottom, to 1
  std::string label;
};

inline constexpr double frame_width = 0.8;  ///< points

/// A horizontal or vertical edge of the axes with its ticks and texts. Sizes are in points.
struct Axis {
  std::vector<Tick> ticks;
  std::vector<double> minor_ticks;  ///< positions of shorter ones without labels
  bool labelled = true;             ///< whether the tick labels are shown
  double tick_label_size = 10;
  double tick_label_degrees = 0;
  bool labels_end_at_tick =
      false;           ///< turned labels end at their tick; else their middles stand under it
  std::string offset;  ///< a factor and a summand common to all tick labels
  std::string label;
  double label_size = 10;
  bool drawn = true;
};

/// A framed area with everything written around it. Sizes are in points. The title and the labels
/// of its axes may have several lines.
struct Axes {
  Box box;
  double line_width = frame_width;  ///< points; of the frame and the ticks
  PlotStyle style = PlotStyle::standard;
  Axis x;  ///< below the box
  Axis y;  ///< left of the box
  bool y_on_right = false;
  std::string title;
  double title_size = 12;
  double title_pad = 6;
  /// How far left and right the title may reach, where it would otherwise stand beyond that.
  std::optional<std::pair<double, double>> title_within = {};
};

/// The texts around an axes at their places.
struct Decorations {
  std::vector<PlacedText> texts;
  /// Around the frame, its ticks and all texts. The matplotlib style takes no account of the
  /// lengths of axis labels, so that those longer than their axis may be cut off.
  Box bounds;
  /// The same without the lengths of axis labels and title, which no change of the frame can mend.
  Box layout_bounds;
};

/// Points; of a figure's title and of the names of its axes.
inline constexpr double title_size = 14, label_size = 12;
inline constexpr double tick_length = 3.5;                              ///< points
inline constexpr double minor_tick_length = 2, minor_tick_width = 0.6;  ///< points
inline constexpr double tick_pad = 3.5;  ///< points between a tick and its label

/// A text of one or more lines at its place.
std::vector<PlacedText> placed_lines(const std::string& text, double points, Point anchor,
                                     const Alignment& alignment, Typesetter& typesetter);
/// The box around texts; at least one.
Box bounds_of(const std::vector<PlacedText>& texts);

Decorations decorate(const Axes& axes, Typesetter& typesetter);

}  // namespace attn::plot
