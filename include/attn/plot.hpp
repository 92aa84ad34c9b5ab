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

enum class PictureFormat { png, svg, pdf };

/// Their names, which are the extensions of files too.
std::span<const Named<PictureFormat>> picture_formats() noexcept;

/// `matplotlib` is the look of the usual matplotlib tutorials to the letter; `standard` departs
/// from it only where it is better: values turn white on dark cells, turned labels end at their
/// tick, hidden cells are told from zeros.
enum class PlotStyle { standard, matplotlib };

enum class Annotate { automatic, on, off };
enum class Ticks {
  automatic,
  labels,  ///< names, as many as there is room for
  index,   ///< numbers that count from 0, as arrays do
  all,     ///< every name, though they may overlap
};

/// What a picture stands on. Letters, lines and keys are such that they can be read there; what is
/// transparent is meant for light paper. The matplotlib style knows white alone.
enum class Background { white, dark, transparent };

/// How vector formats hold letters: as text in named fonts that can be searched and changed, or as
/// outlines that look alike everywhere.
enum class Letters { text, outlines };

/// How colours are spread over the values: one range for all panels, one a panel, or the range
/// given. By itself a range goes from 0 to the largest weight, at least to 0.1; for numbers of both
/// signs it has 0 in its middle; other numbers have theirs, as all have in the matplotlib style.
struct ColorRange {
  enum class Scope { shared, panel, given } scope = Scope::shared;
  double low = 0, high = 1;  ///< used by `given`
};

/// How values between the ends of the range take their colours: evenly, by their logarithms (for
/// weights of which a few are large), or by a power of their distance from the low end.
struct ColorNorm {
  enum class Kind { linear, log, power } kind = Kind::linear;
  double gamma = 0.5;  ///< used by `power`
};

/// What a pixel shows of the cells under it where there are more cells than pixels.
enum class PixelShows { mean, max };

/// Options of every figure. Absent texts and sizes are those of the figure's kind.
struct FigureOptions {
  PlotStyle style = PlotStyle::standard;
  std::optional<std::string> title, xlabel, ylabel;
  std::optional<std::pair<double, double>> figsize;  ///< inches, before the margins are trimmed
  double dpi = 300;                                  ///< pixels per inch of a raster, 1 to 10000
  double font_scale = 1;                             ///< factor of all sizes of letters, 0.1 to 20
  Background background = Background::white;
  Letters letters = Letters::text;
  Ticks ticks = Ticks::automatic;
  bool show_spaces = false;  ///< whether spaces in labels are shown as "␣"
  std::string provenance;    ///< text for the file's metadata, after the program's name
  std::size_t threads = 0;   ///< 0 = as many as the machine has; never changes a picture
};

/// Colours that stand for numbers, and their bar.
struct ColorOptions {
  /// A name of colour_maps(); absent: YlOrRd, and RdBu_r for numbers of both signs.
  std::optional<std::string> cmap;
  ColorRange range;
  ColorNorm norm;
  PixelShows pixels = PixelShows::mean;
  bool bar = true;                       ///< whether the bar of colours is drawn
  std::optional<std::string> bar_label;  ///< meaning of the colours
};

/// Values written into the cells of maps.
struct AnnotationOptions {
  Annotate when = Annotate::automatic;
  std::optional<std::string> color;  ///< a CSS colour name or #rrggbb; absent = automatic
  /// Format of each cell's value: ".3f" or ".2g" as in C, ".1%" for hundredths. Absent: as many
  /// digits as tell values of different colours apart; two decimals in the matplotlib style.
  std::optional<std::string> format;
};

struct HeatmapOptions {
  FigureOptions figure;
  ColorOptions colors;
  AnnotationOptions annotation;
  bool marginals = false;  ///< whether bars show the sums of columns above and of rows beside it
};

struct GridOptions {
  FigureOptions figure;
  ColorOptions colors;
  AnnotationOptions annotation;
  std::optional<std::vector<std::string>> titles;  ///< one a column; empty = none
  /// Panels per row of a grid that has one row; absent = nearly a square of more than six.
  std::optional<std::size_t> columns;
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
};

/// Options of all figures together, for a caller whose kind of figure is chosen later.
struct PlotOptions {
  FigureOptions figure;
  ColorOptions colors;
  AnnotationOptions annotation;
  bool marginals = false;                          ///< of HeatmapOptions
  std::optional<std::vector<std::string>> titles;  ///< of GridOptions, as the next
  std::optional<std::size_t> columns;
  std::optional<std::size_t> top;  ///< of LinesOptions, as the next
  double threshold = 0;

  HeatmapOptions heatmap() const { return {figure, colors, annotation, marginals}; }
  GridOptions grid() const { return {figure, colors, annotation, titles, columns}; }
  LinesOptions lines() const { return {figure, top, threshold}; }
  StripOptions strip() const { return {figure, colors}; }
};

/// One matrix of weights with the names of its rows and columns.
struct Heatmap {
  Tensor weights;  ///< [Lq,Lk], float32 or float64
  Tensor allowed;  ///< [Lq,Lk] of 0 and 1, or absent: which cells no mask hides
  /// [Lq,Lk] of 0 and 1, or absent: which cells do not exist, as where rows are of several lengths.
  Tensor missing = {};
  std::vector<std::string> query_labels;  ///< Lq names, or empty: Q_1…
  std::vector<std::string> key_labels;    ///< Lk names, or empty: K_1…
  /// What stands in the cells in the place of their values, row by row; empty = the values.
  std::vector<std::string> cell_texts = {};
  std::string title;    ///< of the panel; FigureOptions::title goes before it
  std::string caption;  ///< grid: below the panel
  std::size_t first_query = 0, first_key = 0;  ///< the numbers that rows and columns count from
  bool any_numbers = false;   ///< other numbers than weights, whose range need not begin at 0
  bool of_positions = false;  ///< rows and columns are positions and dimensions instead
};

/// Panels in rows × columns with shared axes; all weights of one shape. The last row may be
/// shorter.
struct HeatmapGrid {
  std::size_t rows = 1, columns = 1;
  std::vector<Heatmap> panels;  ///< row by row
  double panel_side = 1.75;     ///< inches of the figure for each panel
  /// One a row, left of it; the panels' titles stand above the first row alone then. In the
  /// matplotlib style they stand before the titles of the panels. Empty = rows have none.
  std::vector<std::string> row_titles = {};
  /// Brackets above each so many columns with their names: heads that share a key and value head.
  std::size_t columns_a_group = 0;
  std::vector<std::string> group_titles = {};
};

/// Which parts of a mask hide each cell. A cell may be hidden by several.
struct MaskMap {
  Tensor hidden_by;                ///< [Lq,Lk], int64: the sum of 2^i over the parts i that hide
  std::vector<std::string> parts;  ///< their names, at most 32; none = it is not known which hide
  Tensor global;  ///< [Lq,Lk] of 0 and 1, or absent: cells seen only because a position is global
  std::vector<std::string> query_labels, key_labels;  ///< as in a Heatmap
  std::string title;
  std::size_t first_query = 0, first_key = 0;
};

/// Two columns of tokens, queries and keys, with lines between them for the weights of each head.
struct HeadLines {
  std::vector<Heatmap> heads;  ///< of one shape; their titles name them, the first one's labels the
                               ///< tokens
  std::string title;
};

/// The sizes of the last two axes, length and width, of the tensors of one attention. An absent
/// tensor has an empty shape, one whose length alone is known a shape of one axis.
struct DimensionChart {
  Shape query, key, value, output;
  Shape weights = {};  ///< for draw_shapes() alone
};

/// A text whose tokens are tinted by what they weigh.
struct TokenStrip {
  std::vector<std::string> tokens;
  Heatmap weights;                   ///< [1,L], one a token; its labels and title are not looked at
  std::optional<std::size_t> query;  ///< the token whose weights they are, if it is one of them
  std::string title;
};

/// Points in a plane that stand near each other if they are alike, such as heads.
struct PointMap {
  Tensor points;                    ///< [N,2]
  std::vector<std::string> names;   ///< N, or empty
  std::vector<std::size_t> groups;  ///< N numbers of groups, which have a colour each, in order
  std::vector<std::string> group_names;  ///< such as layers
  std::string title;
};

/// A line of text in a picture. Sizes are in pixels, in points in vector formats.
struct PictureText {
  std::string text;
  double x = 0, y = 0;  ///< where its baseline begins, from the picture's upper left corner
  double left = 0, top = 0, right = 0, bottom = 0;  ///< the level box around its ink, from x, y on
  double degrees = 0;  ///< by which it is turned about x, y, anticlockwise
};

/// The frame of a map, a chart or a colour bar, in the units of texts.
struct PictureFrame {
  double left = 0, top = 0, right = 0, bottom = 0;
};

/// A finished picture file.
struct Picture {
  std::string bytes;
  std::vector<std::string> warnings;  ///< what could not be drawn as asked: a missing glyph, …
  std::vector<PictureText> texts;     ///< all that is written in it, and where
  std::vector<PictureFrame> frames = {};
  std::string description = {};  ///< what it shows, in words; vector files say it too
};

/// Each throws Error(usage) for an unknown colour map or colour and Error(input) for a matrix that
/// cannot be drawn. The same input gives the same bytes.
Picture draw_heatmap(const Heatmap& heatmap, const HeatmapOptions& options, PictureFormat format);
Picture draw_grid(const HeatmapGrid& grid, const GridOptions& options, PictureFormat format);
Picture draw_dimensions(const DimensionChart& chart, const FigureOptions& options,
                        PictureFormat format);
Picture draw_mask(const MaskMap& mask, const FigureOptions& options, PictureFormat format);
Picture draw_lines(const HeadLines& lines, const LinesOptions& options, PictureFormat format);
/// Each tensor as a box, as wide and as high as it is wide and long, all to one scale.
Picture draw_shapes(const DimensionChart& chart, const FigureOptions& options,
                    PictureFormat format);
Picture draw_strip(const TokenStrip& strip, const StripOptions& options, PictureFormat format);
/// The columns of a matrix [L,D] as curves over its rows: all of a few, otherwise some of them from
/// the first to the last. Its key labels name the columns.
Picture draw_curves(const Heatmap& columns, const FigureOptions& options, PictureFormat format);
/// Both axes have one scale.
Picture draw_points(const PointMap& map, const FigureOptions& options, PictureFormat format);

/// The colours a terminal shows: none, the 256 of xterm's palette, or all of 24 bits.
enum class TerminalColors { none, palette, truecolor };

struct TerminalOptions {
  TerminalColors colors = TerminalColors::none;
  std::size_t columns = 80;  ///< of the terminal; at least 20
  std::size_t lines = 0;  ///< of the terminal; 0 = unknown, about half as many as columns are used
  std::optional<std::string> cmap;  ///< as that of ColorOptions
};

/// The heatmap as lines of text: a terminal's colours and half blocks or, without colours, shades
/// of ASCII. What takes more cells than the terminal has room for is averaged. Below stands the
/// scale with the smallest and the largest value. Throws as draw_heatmap does.
std::string draw_in_terminal(const Heatmap& heatmap, const TerminalOptions& options);

/// The names ColorOptions::cmap takes, in the order they are listed to users.
std::vector<std::string_view> colour_maps();

}  // namespace attn
