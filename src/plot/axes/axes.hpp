#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/plot.hpp"

#include "plot/axes/figure.hpp"
#include "plot/numbers/ticks.hpp"
#include "plot/text/text.hpp"

namespace attn::plot {

struct Tick {
  double position = 0;  ///< from 0, the left or the bottom, to 1
  std::string label;
};

/// A part of an axis under one name, from 0 to 1 as ticks.
struct Bracket {
  std::string name;
  double from = 0, to = 0;
};

/// Points; of a figure's title and of the names of its axes.
inline constexpr double title_size = 14, label_size = 12;
inline constexpr double frame_width = 0.8;  ///< points

/// A horizontal or vertical edge of the axes with its ticks and texts. Sizes are in points.
struct Axis {
  std::vector<Tick> ticks;
  std::vector<double> minor_ticks;  ///< positions of shorter ones without labels
  bool labelled = true;             ///< whether the tick labels are shown
  double tick_label_size = 10;
  double tick_label_degrees = 0;  ///< anticlockwise
  /// Whether turned labels end at their tick; otherwise their middles stand under it.
  bool labels_end_at_tick = false;
  std::string offset;  ///< a factor and a summand common to all tick labels
  std::string label;
  double label_size = 10;
  bool drawn = true;
  std::vector<Bracket> brackets;  ///< beyond the tick labels; rules between them cross the frame
};

/// A framed area with everything written around it. Sizes are in points. The title and the labels
/// of its axes may have several lines.
struct Axes {
  Box box;                          ///< pixels
  double line_width = frame_width;  ///< points; of the frame and the ticks
  PlotStyle style = PlotStyle::standard;
  Axis x;  ///< below the box
  Axis y;  ///< left of the box
  bool y_on_right = false;
  std::string title;
  double title_size = 12;
  double title_pad = 6;
  /// Left and right end in pixels within which a title stays that fits between them.
  std::optional<std::pair<double, double>> title_within = {};
};

/// The texts around an axes at their places, in pixels.
struct Decorations {
  std::vector<PlacedText> texts;
  std::vector<Canvas::Tick> bracket_lines;
  /// The box around the frame, its ticks and all texts. The matplotlib style takes no account of
  /// the lengths of axis labels, so that those longer than their axis may be cut off.
  Box bounds;
  /// The box without the lengths of axis labels and title, which no change of the frame can mend.
  Box layout_bounds;

  void grow(const Box& box, const Box& layout_box);
  void grow(const Box& box) { grow(box, box); }
  void add(const PlacedText& text) {
    grow(text.bounds);
    texts.push_back(text);
  }
};

/// A text of one or more lines at its place.
std::vector<PlacedText> placed_lines(const std::string& text, double points, Point anchor,
                                     const Alignment& alignment, Typesetter& typesetter);
/// Adds such a text to others, and returns the box around it.
Box add_lines(std::vector<PlacedText>& texts, const std::string& text, double points, Point anchor,
              const Alignment& alignment, Typesetter& typesetter);
/// The box around texts; at least one.
Box bounds_of(const std::vector<PlacedText>& texts);

Decorations decorate(const Axes& axes, Typesetter& typesetter);

/// The sides of a frame.
enum class FrameSide { below, left, right };

/// Adds brackets of an axis at one side of a frame, beyond `edge`, the place up to which other
/// texts reach there, and returns the place up to which they reach. Names that have no room are
/// shortened or left out.
double add_brackets(Decorations& decorations, const std::vector<Bracket>& brackets,
                    const Box& frame, FrameSide side, double edge, Typesetter& typesetter);

/// Draws rules across a frame where brackets of an upright or a level axis begin and end.
void draw_rules(Canvas& canvas, const std::vector<Bracket>& brackets, const Box& frame,
                bool horizontal, const Figure& figure);

/// Draws the frame and the ticks of an axes and the texts around it.
void draw_axes(Canvas& canvas, const Axes& axes, const Decorations& decorations,
               const Figure& figure);

/// Sets ticks at the round values of an axis that shows `view` over `length` pixels.
void set_value_ticks(Axis& axis, Interval view, double length, bool horizontal,
                     const Figure& figure);

/// The same for a logarithmic axis, with short ticks between them. The view begins above zero.
void set_log_ticks(Axis& axis, Interval view, double length, bool horizontal, Figure& figure);

/// The labels of a heatmap's axes as they are shown; lists that are not given stay empty. Tokens
/// are made readable but for the matplotlib style, which shows them as they are.
struct ShownLabels {
  std::vector<std::string> query, key;
};
ShownLabels shown_labels(const Heatmap& heatmap, const FigureOptions& options);

/// The labels given or, if there are none, names for cells of the indices from `first` on: the
/// prefix with numbers, "K_1", "K_2", …, or the indices alone where the first number is 0.
std::vector<std::string> labels_or(const std::vector<std::string>& given, const char* prefix,
                                   std::size_t count, std::size_t first, std::size_t first_number);

/// Names for the cells along one axis of a heatmap.
struct CellTicks {
  std::vector<std::string> labels;  ///< one a cell
  Ticks ticks = Ticks::automatic;
  std::size_t first = 0;                 ///< the index of the first cell
  bool upwards = false;                  ///< whether that cell is the last label's, at the bottom
  std::vector<AxisSpan> spans = {};      ///< parts that brackets name
  std::vector<AxisSpan> sentences = {};  ///< in their place where not all names have room
  std::size_t least_step = 1;            ///< from one named cell to the next, where not all are
};

/// The map with queries from left to right and keys upwards.
Heatmap with_keys_upwards(const Heatmap& map, const FigureOptions& options);

/// Whether names are numbers of positions, as those that are not given or those of bins: "Q_1",
/// "K_257".
bool are_positions(const std::vector<std::string>& names);
/// Whether all names are whole numbers alone, such as distances, which may thin out.
bool are_numbers(const std::vector<std::string>& names);

/// Names for the rows and the columns of a map.
struct MapTicks {
  CellTicks query, key;
};
/// Names for `rows` × `columns` cells from a heatmap's labels and first numbers.
MapTicks map_ticks(const Heatmap& names, std::size_t rows, std::size_t columns,
                   const FigureOptions& options);

/// The name of a part of a text as readers see it: in their language where it is one of the usual
/// words.
std::string shown_part(const std::string& name);

/// Gives the ticks of a map the parts of its axes, in the standard style unless the options say
/// otherwise.
void set_spans(MapTicks& ticks, const Heatmap& map, const FigureOptions& options);

/// Gives an axis that shows cells over `length` pixels its ticks. In the standard style the labels
/// of a horizontal axis turn before they collide, those of either axis thin out before they overlap
/// (unless all are asked for), and long ones are shortened; in the matplotlib style labels stay as
/// they are, thin out where they would overlap, and give way to indices where they would be too
/// many to be read. Parts of the axis become its brackets. Returns the number of cells from one
/// tick to the next.
std::size_t set_cell_ticks(Axis& axis, const CellTicks& ticks, double length, bool horizontal,
                           Figure& figure);

/// Sets the ticks of both axes. In the standard style names shrink to five points before any of
/// their axis is left out. Returns the larger number of cells from one tick to the next.
std::size_t set_cell_ticks(Axes& axes, const MapTicks& ticks, Figure& figure);

}  // namespace attn::plot
