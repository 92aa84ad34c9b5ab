#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plot/axes/axes.hpp"
#include "plot/axes/figure.hpp"
#include "plot/cells/cells.hpp"
#include "plot/colour/colour.hpp"

namespace attn::plot {

/// A colour or a line and its meaning.
struct LegendEntry {
  std::string name;
  Colour colour;
  /// Strokes of a second colour over the first, one over the other; thin ones only tone it.
  std::vector<Canvas::Hatch> hatches = {};
  Colour strokes = {};
  bool thin = false;
  double line_width = 0;            ///< points; a line stands in the place of the square then
  double opacity = 1;               ///< of the line, 0 to 1
  std::vector<double> dashes = {};  ///< points; of the line
  bool bare = false;                ///< whether it is a remark, without a square
};

/// Squares of colour, or lines, with their names, one below the other.
class Legend {
 public:
  /// Places the entries with the upper left corner of the first square at `corner`, in pixels.
  Legend(const std::vector<LegendEntry>& entries, Point corner, Figure& figure);

  /// Width of a legend with these entries, in pixels.
  static double width(const std::vector<LegendEntry>& entries, Figure& figure);
  /// Pixels that a number of entries take below the corner.
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

/// Draws strokes over cells that a mask hides, one kind for each cause.
void draw_hatches(Canvas& canvas, const std::vector<Box>& boxes,
                  const std::vector<Canvas::Hatch>& hatches, Colour colour, const Figure& figure);

/// A bar of colours with the values that they stand for on its right, its first colour at the
/// bottom, and an arrow at an end that values lie beyond. In the standard style a line across it
/// marks the uniform weight of rows that sum to 1, one over the number of their keys, by its name.
struct ColourBar {
  /// A bar in its box. `label` is fitted to it already; empty = none.
  ColourBar(const Box& box, const std::string& label, const ColourScale& scale, PlotStyle style,
            Figure& figure);

  /// The box around bar, texts and arrows; `of` is bounds or layout_bounds.
  Box bounds(Box Decorations::*of = &Decorations::bounds) const;
  void draw(Canvas& canvas, const Figure& figure) const;

  Axes axes;
  Decorations decorations;
  std::vector<Colour> colours;  ///< of the map as a figure shows them, if not as they are

 private:
  void add_even_weight(const Figure& figure);
  void name_even_weight(Figure& figure);
  const Text& even_name(std::size_t keys, Figure& figure) const;
  void keep_column(Figure& figure);
  double right_of_ticks(const Figure& figure) const;
  void move_label_from(const Box& text);

  const ColourScale* scale_;
  std::optional<double> even_;  ///< height of the even weight's line, from 0 to 1
  bool even_named_ = false;     ///< whether that line has a tick with its number
};

/// Meaning of the colours of weights: "Attention weight", with the words for both ends where the
/// scale goes from 0 to 1, and the tutorial's label in the matplotlib style. `any_numbers`, and
/// weights below zero, are values.
std::string usual_bar_label(const ColourScale& scale, bool any_numbers, const Figure& figure);

/// The label on a bar `length` pixels long. The words in brackets that end a usual label are left
/// out where they take a second line, and the whole where a word is longer than the bar.
std::string fitted_bar_label(const std::string& label, bool usual, double length, Figure& figure);

/// The box of a colour bar within its place: twenty times as high as wide.
Box bar_within(const Box& place);

/// Sets the ticks of a colour bar: round values of the range, at the places of their colours.
void set_bar_ticks(Axes& bar, Interval range, Figure& figure, const ColorNorm& norm);

/// Whether values are written as hundredths, "12.3%", so that a bar beside them is too.
bool are_percent(const AnnotationOptions& options);

/// Entries for the cells that have no colour on the bar, one for each kind that there is: NaN,
/// infinities, hidden cells, those that a choice left blank and, on a logarithmic scale, zeros.
/// None in the matplotlib style.
std::vector<LegendEntry> colour_key(std::span<const Matrix> matrices, const CellColours& colours,
                                    const CellChoice& cells = {});

/// The bar of colours and the key of a heatmap, before they are placed.
struct BarAndKey {
  ColourScale scale;
  std::string label;
  std::vector<LegendEntry> key;

  /// Whether the colours of another mean the same.
  bool means_as(const BarAndKey& other) const;
  /// Takes entries of another's key that this has not, and leaves out marks that it has not.
  void take(const BarAndKey& other);
};

/// What the frames of an animation show together. Each leaves room for all of it, so that nothing
/// moves from one to the next.
struct FrameParts {
  ColourScale scale;
  std::vector<LegendEntry> key;
  std::string longest_title = {};  ///< of strips
};

/// Those of the maps of all frames, which may be the rows of one matrix.
FrameParts frame_parts(std::span<const Matrix> maps, bool weights, const ColorOptions& colors,
                       const FigureOptions& options, const CellChoice& cells = {});

/// The scale of a figure of these maps; a frame of an animation has that of all frames with the
/// mark of its own even weight.
ColourScale scale_of_figure(std::span<const Matrix> maps, bool weights, const ColorOptions& colors,
                            const FigureOptions& options);

/// The key of cells in this box: without hatches where the cells are too small for them.
std::vector<LegendEntry> as_drawn(std::vector<LegendEntry> key, const Box& box,
                                  const Matrix& matrix, const Figure& figure);

/// By what power a scale's colours go where that was not asked for: "colours by the square root";
/// otherwise empty.
std::string norm_note(const ColorNorm& norm, bool chosen);

/// What a bar says of its colours in the standard style beyond what they stand for: "mean of up to
/// 7 × 7 cells a pixel" where pixels of a map in this box stand for several cells, and by what
/// power they go where that was not asked for. Otherwise empty.
std::string colour_note(const Matrix& matrix, const Box& box, const CellColours& colours,
                        const Figure& figure);

/// The values that the pixels of a map in this box show where they are means of several cells and
/// the range of colours follows them; otherwise nothing.
std::optional<Interval> range_of_means(const Matrix& matrix, const Box& box,
                                       const CellColours& colours, ColorRange::Scope scope,
                                       const Figure& figure);

/// "6 queries × 6 keys", "3 positions × 8 dimensions".
std::string described_cells(const Matrix& matrix, bool of_positions = false);

/// "Values from 0.01 to 0.53, coloured from 0 to 0.53. Told apart: hidden, NaN."
std::string described_colours(std::span<const Matrix> matrices, const ColourScale& scale,
                              const std::vector<LegendEntry>& key);

}  // namespace attn::plot
