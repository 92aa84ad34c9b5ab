#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/named.hpp"
#include "attn/tensor.hpp"

namespace attn {

namespace plot {
struct Panel;
struct FrameParts;
}

enum class PictureFormat { png, svg, pdf };

/// The formats by name; a name is the extension of files too.
std::span<const Named<PictureFormat>> picture_formats() noexcept;

/// Looks of figures. `matplotlib` is that of the usual matplotlib tutorials to the letter;
/// `standard` departs from it only where it is better: values turn white on dark cells, turned
/// labels end at their tick, hidden cells differ from zeros.
enum class PlotStyle { standard, matplotlib };

/// Whether values are written into cells; automatic = where they fit.
enum class Annotate { automatic, on, off };
/// Labels of rows and columns.
enum class Ticks {
  automatic,
  labels,  ///< names, as many as there is room for
  index,   ///< numbers from 0, as in arrays
  all,     ///< every name, though they may overlap
};

/// Ground of a picture. Letters, lines and keys have colours that can be read on it; transparent
/// pictures are meant for light paper. The matplotlib style knows white alone.
enum class Background { white, dark, transparent };

/// Letters in vector formats: text in named fonts, which can be searched and changed, or outlines,
/// which look alike everywhere.
enum class Letters { text, outlines };

/// Values that colours are spread over: one range for all panels, one a panel, or a given range. A
/// range that is not given goes from 0 to 1 for weights of at most 12 keys, for others from 0 to
/// the largest, at least to four times the even weight 1/n, and to 0.1 up to 20 keys. For numbers
/// of both signs 0 is in its middle. Numbers of one sign that come near 0 end there, and zeros
/// alone go from 0 to 1. Others span the range, as all do in the matplotlib style.
struct ColorRange {
  enum class Scope { shared, panel, given } scope = Scope::shared;
  double low = 0, high = 1;  ///< of Scope::given
};

/// Spread of the colours within a range: even, by logarithms (for few large weights among small
/// ones), or by a power of the distance from the low end. Automatic: even, but of weights of 200
/// keys and more by their square root, or else their cube root, where more than a third of the
/// weight would otherwise have the palest tenth of the colours.
struct ColorNorm {
  enum class Kind { automatic, linear, log, power } kind = Kind::automatic;
  double gamma = 0.5;  ///< of Kind::power, above 0

  bool is_linear() const { return kind == Kind::automatic || kind == Kind::linear; }
};

/// Value of a pixel over several cells, where there are more cells than pixels. Automatic: the
/// largest, so that no strong weight is lost; the mean in the matplotlib style.
enum class PixelShows { automatic, mean, max };

/// Options of every figure. Absent texts and sizes are those of the figure's kind.
struct FigureOptions {
  PlotStyle style = PlotStyle::standard;
  std::optional<std::string> title, xlabel, ylabel;
  /// Inches, before the margins are trimmed; a height of 0 follows the content.
  std::optional<std::pair<double, double>> figsize;
  double dpi = 300;  ///< pixels per inch of a raster, 1 to 10000
  /// Whether the picture is exactly as large as the figure, or as wide where the height follows the
  /// content; otherwise its margins are trimmed.
  bool exact_size = false;
  bool short_names = false;  ///< "Key" and "Query" for the axes of maps
  double font_scale = 1;     ///< factor of all sizes of letters, 0.1 to 20
  /// Points of tick labels, 1 to 200, in the place of the factor; other letters in proportion.
  std::optional<double> font_size;
  /// Family of the letters, or several with commas between them, of which the first that is
  /// installed is taken, and DejaVu Sans where none is; absent: DejaVu Sans.
  std::optional<std::string> font;
  double frame_width = 0.8;    ///< points; of frames and ticks, where they are not thinner
  bool sentence_case = false;  ///< whether own titles have one capital letter: "Head map"
  Background background = Background::white;
  Letters letters = Letters::text;
  Ticks ticks = Ticks::automatic;
  bool show_spaces = false;  ///< whether spaces in labels are shown as "␣"
  /// Whether maps have queries from left to right and keys upwards, as in figures of speech.
  bool keys_upwards = false;
  bool brackets = true;          ///< whether brackets name the parts of axes
  bool caption = false;          ///< whether maps come with Picture::caption, in the file too
  std::string provenance;        ///< text for the file's metadata, after the program's name
  std::size_t threads = 0;       ///< 0 = as many as the machine has; never changes a picture
  plot::Panel* panel = nullptr;  ///< place on a sheet, set by what draws it; null = a file
  /// Scale and key that all frames of an animation share; null for other figures.
  const plot::FrameParts* frames = nullptr;
};

/// Colours that stand for numbers, and their bar.
struct ColorOptions {
  /// A name of colour_maps(); absent: YlOrRd, and RdBu_r for numbers of both signs.
  std::optional<std::string> cmap;
  ColorRange range;
  ColorNorm norm;
  PixelShows pixels = PixelShows::automatic;
  bool bar = true;                       ///< whether the bar of colours is drawn
  std::optional<std::string> bar_label;  ///< meaning of the colours
};

/// Values written into the cells of maps.
struct AnnotationOptions {
  Annotate when = Annotate::automatic;
  std::optional<std::string> color;  ///< a CSS colour name or #rrggbb; absent = automatic
  /// Format of each cell's value: ".3f" or ".2g" as in C, ".1%" for hundredths. Absent: as many
  /// digits as distinguish values of different colours; two decimals in the matplotlib style.
  std::optional<std::string> format;
};

/// Cells of a map that are drawn; the others are left blank, and a key says so.
struct CellChoice {
  std::optional<std::size_t> top;  ///< the most cells per row, the largest; equal ones all or none
  double threshold = 0;            ///< the least size of a value, whatever its sign
};

struct HeatmapOptions {
  FigureOptions figure;
  ColorOptions colors;
  AnnotationOptions annotation;
  bool marginals = false;  ///< whether bars show the sums of columns above and of rows on the right
  CellChoice cells;
};

struct GridOptions {
  FigureOptions figure;
  ColorOptions colors;
  AnnotationOptions annotation;
  /// One a column, or one a panel of a row that is wrapped; empty = none.
  std::optional<std::vector<std::string>> titles;
  /// Panels per row of a grid that has one row; absent = nearly a square of more than six.
  std::optional<std::size_t> columns;
  CellChoice cells;
};

struct LinesOptions {
  FigureOptions figure;
  /// The most keys per query, the strongest ones. Absent: all of short inputs, few of long ones.
  std::optional<std::size_t> top;
  double threshold = 0;  ///< the smallest weight that has a line
};

struct StripOptions {
  FigureOptions figure;
  ColorOptions colors;
  bool fills = false;  ///< whether tokens grow until they take most of the height
};

/// Axes of curves that are logarithmic; values that are not positive are left out on them.
enum class LogAxes { none, x, y, both };

struct CurvesOptions {
  FigureOptions figure;
  std::optional<std::vector<std::string>> titles;  ///< one a column; empty = none
  LogAxes log_axes = LogAxes::none;
};

struct OverlayOptions {
  FigureOptions figure;
  ColorOptions colors;  ///< the usual map is inferno, the usual range from 0 to the largest patch
  std::optional<std::vector<std::string>> titles;  ///< as in GridOptions, and the next
  std::optional<std::size_t> columns;
  bool smooth = false;  ///< whether weights change evenly between the middles of patches
};

/// Options of all figures together, for a caller whose kind of figure is chosen later.
struct PlotOptions {
  FigureOptions figure;
  ColorOptions colors;
  AnnotationOptions annotation;
  bool marginals = false;                          ///< of HeatmapOptions
  std::optional<std::vector<std::string>> titles;  ///< of GridOptions, as the next
  std::optional<std::size_t> columns;
  std::optional<std::size_t> top;  ///< of LinesOptions and CellChoice, as the next
  double threshold = 0;
  bool smooth = false;               ///< of OverlayOptions
  LogAxes log_axes = LogAxes::none;  ///< of CurvesOptions
  /// Number of the heads of a stack of maps that are drawn: those with the largest share of weight
  /// in one place beyond that of even weights, the others as dots. Absent = all.
  std::optional<std::size_t> best;

  HeatmapOptions heatmap() const {
    return {figure, colors, annotation, marginals, {top, threshold}};
  }
  GridOptions grid() const {
    return {figure, colors, annotation, titles, columns, {top, threshold}};
  }
  LinesOptions lines() const { return {figure, top, threshold}; }
  CurvesOptions curves() const { return {figure, titles, log_axes}; }
  StripOptions strip() const { return {figure, colors}; }
  OverlayOptions overlay() const { return {figure, colors, titles, columns, smooth}; }
};

/// Positions along an axis that belong together under one name, such as a prompt, a sentence or a
/// document: from `first` up to, but without, `end`.
struct AxisSpan {
  std::string name;
  std::size_t first = 0, end = 0;

  bool operator==(const AxisSpan&) const = default;
};

/// One matrix of weights with the names of its rows and columns.
struct Heatmap {
  Tensor weights;  ///< [Lq,Lk], float32 or float64
  Tensor allowed;  ///< [Lq,Lk] of 0 and 1, or absent: which cells no mask hides
  /// [Lq,Lk] of 0 and 1, or absent: which cells do not exist, as where rows are of several lengths.
  Tensor missing = {};
  /// [Lq,Lk] of 0 and 1, or absent: which seen cells a large negative bias hides in effect.
  Tensor hidden_in_effect = {};
  std::vector<std::string> query_labels;  ///< Lq names; empty: Q_1…, or the numbers alone from 0
  std::vector<std::string> key_labels;    ///< Lk names; empty: K_1…, or the numbers alone from 0
  /// Parts of the rows and columns, from 0 and in their order, which brackets name. None: those
  /// that the labels tell, as turns of a chat, segments and sentences.
  std::vector<AxisSpan> query_spans = {}, key_spans = {};
  /// Lq × Lk texts in the place of the cells' values, row by row; empty = the values.
  std::vector<std::string> cell_texts = {};
  std::string title;                           ///< unless FigureOptions::title is given
  std::string caption;                         ///< text below the panel of a grid
  std::size_t first_query = 0, first_key = 0;  ///< indices of the first row and column
  /// Indices of the queries and keys that rows and columns are; empty = they are no single ones.
  std::vector<std::size_t> query_places = {}, key_places = {};
  std::size_t first_number = 1;  ///< what the first query and key are called, 0 or 1
  bool any_numbers = false;      ///< not weights, so that the range need not begin at 0
  bool of_positions = false;     ///< rows are positions and columns dimensions
};

/// Panels in rows × columns with shared axes; all weights of one shape. The last row may be
/// shorter.
struct HeatmapGrid {
  std::size_t rows = 1, columns = 1;
  std::vector<Heatmap> panels;  ///< row by row
  double panel_side = 1.75;     ///< inches of the figure for each panel
  /// Titles left of the rows; the panels' titles are then above the first row only. In the
  /// matplotlib style they precede the titles of the panels. Empty = none.
  std::vector<std::string> row_titles = {};
  /// Number of columns under each bracket, and the names of the brackets: heads that share a key
  /// and value head. 0 = no brackets.
  std::size_t columns_a_group = 0;
  std::vector<std::string> group_titles = {};
  /// Whether panels may differ in shape: each has axes of its own then, and places are alike.
  bool own_axes = false;
  /// Where each panel has its range of colours, a number a panel: those of one number share theirs.
  /// Empty = none do.
  std::vector<std::size_t> ranges = {};
};

/// A mask by the parts that hide each cell, which may be several.
struct MaskMap {
  Tensor hidden_by;                ///< [Lq,Lk], int64: sum of 2^i over the parts i that hide a cell
  std::vector<std::string> parts;  ///< at most 32 names; empty = the parts are not known
  Tensor global;  ///< [Lq,Lk] of 0 and 1, or absent: cells seen only because a position is global
  std::vector<std::string> query_labels, key_labels;  ///< Lq and Lk names, or empty
  std::string title;
  std::size_t first_query = 0, first_key = 0;
  std::vector<AxisSpan> query_spans = {}, key_spans = {};  ///< as in Heatmap
};

/// Two columns of tokens, queries and keys, with lines between them for the weights of each head.
struct HeadLines {
  /// Weights of one shape [Lq,Lk]. Their titles are the heads' names, the labels of the first one
  /// the tokens.
  std::vector<Heatmap> heads;
  std::string title;
};

/// Shapes of the tensors of one attention, whose last two axes are length and width. An absent
/// tensor has an empty shape, one whose length alone is known a shape of one axis.
struct DimensionChart {
  Shape query, key, value, output;
  Shape weights = {};  ///< for draw_shapes() alone
};

/// A text whose tokens are tinted by their weights.
struct TokenStrip {
  std::vector<std::string> tokens;
  Heatmap weights;                   ///< [1,L], one a token; labels and title have no effect
  std::optional<std::size_t> query;  ///< the token that gives the weights, if it is in the text
  std::string title;
  std::vector<AxisSpan> spans = {};  ///< as Heatmap::key_spans; each begins a line, under its name
  std::string missing_name = {};     ///< why tokens have no weight, for Heatmap::missing
};

/// A picture as a model saw it, under the weights that its patches get.
struct PictureOverlay {
  Tensor image;           ///< [3,H,W], red, green and blue from 0 to 1
  std::size_t patch = 1;  ///< pixels of a patch's side
  /// Weights of one head. A grid of panels has as many in each row, the last one excepted.
  struct Panel {
    Heatmap patches;             ///< [rows,columns] of patches; its labels have no effect
    std::vector<double> others;  ///< weights of the tokens that are no patches
  };
  std::vector<Panel> panels;             ///< row by row; at least one
  std::vector<std::string> other_names;  ///< of those tokens, such as "[CLS]"
  std::size_t columns = 1;               ///< number of panels in a row
  std::vector<std::string> row_titles;   ///< left of the rows; empty = none
  /// The token that gives the weights: one of the others, then the patches row by row. Absent:
  /// several tokens do, or one that is none of these.
  std::optional<std::size_t> query;
  std::string title;
};

/// Points in a plane, near each other if the things they represent, such as heads, are alike.
struct PointMap {
  Tensor points;                         ///< [N,2]
  std::vector<std::string> names;        ///< N names, or empty
  std::vector<std::size_t> groups;       ///< N indices of group_names, each with a colour
  std::vector<std::string> group_names;  ///< in order, such as layers
  std::string title;
};

/// A line of text in a picture. Sizes are in pixels, in points in vector formats.
struct PictureText {
  std::string text;
  double x = 0, y = 0;  ///< start of its baseline, from the picture's upper left corner
  double left = 0, top = 0, right = 0, bottom = 0;  ///< level box around its ink, relative to x, y
  double degrees = 0;                               ///< turn about x, y, anticlockwise
};

/// The frame of a map, a chart or a colour bar, in the units of texts.
struct PictureFrame {
  double left = 0, top = 0, right = 0, bottom = 0;
};

class MappedFiles;

/// A finished picture file.
struct Picture {
  std::string bytes;
  std::vector<std::string> warnings;  ///< departures from the options, such as missing glyphs
  std::vector<PictureText> texts;     ///< all lines of text in it
  std::vector<PictureFrame> frames = {};
  std::string description = {};  ///< its content in words; its file holds it too
  /// Two sentences about its numbers for below the picture, if FigureOptions::caption asks for
  /// them; the description is then one of these numbers, too.
  std::string caption = {};
  /// Files that it was made from, over which write_picture() does not write.
  std::shared_ptr<const MappedFiles> inputs = {};
};

/// Pictures of maps and charts. Equal input gives equal bytes. Each function throws Error(usage)
/// for an unknown colour map or colour and for an impossible size, and Error(input) for a matrix
/// that cannot be drawn and for a picture of too many pixels.
Picture draw_heatmap(const Heatmap& heatmap, const HeatmapOptions& options, PictureFormat format);
Picture draw_grid(const HeatmapGrid& grid, const GridOptions& options, PictureFormat format);
Picture draw_dimensions(const DimensionChart& chart, const FigureOptions& options,
                        PictureFormat format);
Picture draw_mask(const MaskMap& mask, const FigureOptions& options, PictureFormat format);
Picture draw_lines(const HeadLines& lines, const LinesOptions& options, PictureFormat format);
/// Draws the tokens once, as a line of text, with arcs above it from each query to its keys.
Picture draw_arcs(const HeadLines& lines, const LinesOptions& options, PictureFormat format);
/// Draws each tensor as a box, as wide as the tensor and as high as it is long, all to one scale.
Picture draw_shapes(const DimensionChart& chart, const FigureOptions& options,
                    PictureFormat format);
Picture draw_strip(const TokenStrip& strip, const StripOptions& options, PictureFormat format);
/// Draws a picture tinted by the weights of its patches, with the other tokens below it.
Picture draw_overlay(const PictureOverlay& overlay, const OverlayOptions& options,
                     PictureFormat format);
/// Draws columns of a matrix [L,D] as curves over its rows: all of a few, otherwise some from the
/// first to the last. Its key labels name the columns, those of positions by the numbers of their
/// dimensions; titles replace these in the legend.
Picture draw_curves(const Heatmap& columns, const CurvesOptions& options, PictureFormat format);
/// Draws points on axes of one scale.
Picture draw_points(const PointMap& map, const FigureOptions& options, PictureFormat format);

/// Colours of a terminal: none, the 256 of xterm's palette, or all of 24 bits.
enum class TerminalColors { none, palette, truecolor };

struct TerminalOptions {
  TerminalColors colors = TerminalColors::none;
  std::size_t columns = 80;         ///< width of the terminal, at least 20
  std::size_t lines = 0;            ///< its height; 0 = unknown: about half of `columns` are used
  std::optional<std::string> cmap;  ///< a name of colour_maps(); absent as in ColorOptions
};

/// Draws a heatmap as lines of text: in a terminal's colours and half blocks or, without colours,
/// in shades of ASCII. More cells than the terminal has room for are averaged. The last lines are
/// the scale with the smallest and the largest value. Throws the errors of draw_heatmap().
std::string draw_in_terminal(const Heatmap& heatmap, const TerminalOptions& options);

/// Protocols by which terminals show pictures: DEC's sixels, and the graphics protocol of kitty.
enum class TerminalPictures { sixel, kitty };

/// The text by which a terminal of that protocol shows a picture, a PNG file. Throws Error(file) if
/// libsixel is wanted and not installed.
std::string picture_in_terminal(const Picture& picture, TerminalPictures protocol);

/// Names of colour maps for ColorOptions::cmap, in the order of lists for users.
std::vector<std::string_view> colour_maps();

/// Help for a colour map of other programs that is not there: a map of its kind; empty for others.
std::string help_for_foreign_map(std::string_view name);

}  // namespace attn
