#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/plot.hpp"

#include "plot/canvas/canvas.hpp"
#include "plot/colour/colour.hpp"
#include "plot/numbers/ticks.hpp"
#include "plot/text/text.hpp"
#include "support/translated.hpp"

namespace attn::plot {

/// Parts of a figure that can be left out where its map would otherwise be too small.
enum class Part { title, axis_labels, tick_labels, captions, bar_label, bar };

/// One attempt to lay a figure out: which parts are left out of it.
class Shown {
 public:
  /// The first `left_out` parts of `order` are left out.
  Shown(std::span<const Part> order, std::size_t left_out) : left_out_(order.first(left_out)) {}
  bool operator()(Part part) const;

 private:
  std::span<const Part> left_out_;
};

struct BarAndKey;

/// A place on a sheet that a figure is drawn into, in the place of a file of its own.
struct Panel {
  std::pair<double, double> size;  ///< inches that it may take; a height of 0 follows the content
  double font_scale = 1;           ///< of its letters
  Canvas* canvas = nullptr;        ///< the sheet; null = the figure is only measured
  Point corner;                    ///< its upper left corner on the sheet, pixels
  double widest_map = 0;           ///< pixels that its map may take; 0 = what the room allows
  bool bar_apart = false;          ///< whether its bar and key stand beside all panels
  bool names_cells = true;         ///< whether remarks on its strongest cells are wanted

  // What the figure took.
  double width = 0, height = 0;  ///< pixels, without a margin
  double fitted_scale = 1;       ///< of its letters
  std::size_t left_out = 0;      ///< parts that its map left no room for
  std::optional<bool> names;     ///< whether tokens along its axes have their names; of others none
  /// Its map, if it has one, by which panels are told whose maps are of one size.
  struct Map {
    std::size_t rows = 0, columns = 0;
    double width = 0;  ///< pixels
  };
  std::optional<Map> map;
  std::optional<bool> cells_named;  ///< whether a heatmap has remarks on cells; of others none
  bool follows_content = false;  ///< whether only its width matters: more height stays empty
  std::optional<Interval> colours;       ///< of its bars
  std::shared_ptr<const BarAndKey> bar;  ///< of a heatmap, wherever they stand; of others null
  bool signed_alone = false;        ///< whether its colours have two signs, and others one
};

/// The paper that axes are laid out on, in pixels, and the fonts for it.
class Figure {
 public:
  /// `default_size` is the size of this kind of figure in inches. Throws Error(usage) for a size or
  /// resolution that makes no picture.
  Figure(const FigureOptions& options, PictureFormat format,
         std::pair<double, double> default_size);

  double width() const { return width_; }
  double height() const { return height_; }
  Typesetter& typesetter() { return typesetter_; }
  PlotStyle style() const { return style_; }
  bool standard() const { return style_ == PlotStyle::standard; }
  /// Whether a figure narrower than a column of print was asked for, which has short texts.
  bool narrow() const;
  bool in_panel() const { return panel_ != nullptr; }
  bool is_raster() const { return format_ == PictureFormat::png; }
  const Paper& paper() const { return paper_; }
  const std::string& family() const { return font_; }  ///< of the letters
  double font_scale() const { return typesetter_.font_scale(); }
  double pixels(double points) const { return typesetter_.pixels(points); }
  double points(double pixels) const { return pixels / typesetter_.pixels(1); }
  /// Pixels of a distance in points that shrinks with the letters but does not grow with them.
  double pixels_beside_text(double points) const;

  /// Lays the figure out until `fits` reports enough room: first with smaller letters, down to five
  /// points, then without one part of `order` after another, then with still smaller letters. The
  /// last call of `fits` is the layout that stays. The matplotlib style calls it once.
  void fit(std::span<const Part> order, const std::function<bool(const Shown&)>& fits);

  /// A title or an axis label whose lines are shortened where they are absurdly longer than the
  /// figure. `points` is the size of its letters.
  std::string bounded(const std::string& text, double points);

  /// The name of an axis `length` pixels long; in the standard style its lines are broken at spaces
  /// to be no longer than that.
  std::string label(const std::string& text, double points, double length);

  /// A title above something `width` pixels wide; in the standard style its lines are broken at
  /// spaces to be no wider than that.
  std::string title(const std::string& text, double points, double width);

  /// The area for the axes that leaves all around it as much room as is written there.
  /// `decorated(figure, area)` is the room that an area takes with its texts. The matplotlib style
  /// measures at the resolution of a screen, as matplotlib does.
  Box tight_area(const std::function<Box(Figure&, const Box&)>& decorated);

  /// Sets the words for readers who cannot see the figure; the title is its name.
  void describe(const std::string& title, const std::string& description);
  /// Notes the range of a colour bar, for panels that share one.
  void note_colours(Interval range);
  /// The box of a map of so many cells, no wider than its panel asks for.
  Box map_in_panel(Box box, std::size_t rows, std::size_t columns) const;
  /// Notes the bar and the key of a heatmap. Returns whether they stand beside all panels.
  bool stand_apart(const BarAndKey& bar);
  /// Whether remarks on cells are wanted, and whether there are any: all panels have them, or none.
  bool names_cells() const { return panel_ == nullptr || panel_->names_cells; }
  void note_named_cells(bool any);
  /// Notes whether tokens along an axis have their names, for panels beside others.
  void note_names(bool shown);
  /// Points; the most that lines of frames and ticks have.
  double frame_width() const { return frame_width_; }
  /// Pixels of a line so many points thick, thicker in a figure that is seen from afar.
  double line(double points) const;
  /// Points; the smallest letters that can be read, larger in a figure that is seen from afar.
  double least_letters() const;
  /// Sets a caption, for the file and the picture.
  void add_caption(const std::string& caption) { words_.caption = caption; }

  /// The file of all within `bounds`, and a margin around it. `draw` is called once for each band
  /// of a large raster.
  Picture picture(const Box& bounds, const std::function<void(Canvas&)>& draw);

  /// The file of the whole figure as large as it was asked for, in one piece, on which panels are
  /// drawn.
  Picture sheet(const std::function<void(Canvas&)>& draw);

 private:
  Figure(std::optional<DrawingRoom> room, PictureFormat format, std::pair<double, double> size,
         double dpi, double pixels_per_point, Lettering lettering, PlotStyle style,
         const std::string& font);

  /// What the picture cannot do as it was asked.
  std::vector<std::string> warnings() const;
  /// Constructs the canvas of the picture. Throws Error that names the size that was asked for if
  /// that is absurd.
  void open(std::optional<Canvas>& canvas, Point lower_left, double width, double height) const;

  std::shared_ptr<const InEnglish> english_;  ///< in the matplotlib style, until all is drawn
  std::optional<DrawingRoom> room_;  ///< absent where a figure is only measured for another
  PictureFormat format_;
  PlotStyle style_;
  std::string font_;
  FileText words_;
  Paper paper_;
  Letters letters_ = Letters::text;
  std::size_t threads_ = 0;
  std::pair<double, double> size_;  ///< inches
  bool asked_size_ = false;         ///< whether the size was asked for, so that nothing exceeds it
  bool exact_size_ = false;         ///< whether the picture is as large as the figure
  bool free_height_ = false;        ///< whether the height follows the content
  double frame_width_ = 0.8;
  double seen_from_ = 1;  ///< factor of what a figure needs that is seen from afar, as a slide
  std::pair<double, double> given_size_;  ///< FigureOptions::figsize; zeros for none
  double given_scale_ = 1;                ///< FigureOptions::font_scale
  std::optional<double> given_letters_;   ///< FigureOptions::font_size
  double first_scale_ = 1;                ///< that of the letters before they had to fit
  Panel* panel_ = nullptr;
  double dpi_;
  bool hinted_;  ///< whether letters are fitted to pixels, as in the matplotlib style on a raster
  Typesetter typesetter_;
  double width_, height_;
};

/// A warning where letters of a size in points that was asked for were made smaller to fit, to this
/// scale.
std::optional<std::string> limited_letters(const std::optional<double>& points, double scale);

/// Whether a figure keeps its size and its map most of the room. `place` is where the map may be,
/// `all` what everything takes.
bool leaves_room(const Figure& figure, const Box& place, const Box& map, const Box& all);

/// The part of a figure that its axes share before anything is written around them, with
/// matplotlib's default margins.
Box default_subplot_area(double width, double height);

/// The area that leaves the texts around `area` as much room as they took beyond it, plus a margin
/// of `pad` pixels at the figure's edges, as matplotlib's tight_layout. The area itself if the
/// texts leave no room for it.
Box tight_subplot_area(const Box& area, const Box& decorated, double width, double height,
                       double pad);

/// The room between neighbouring places, in pixels.
struct Gaps {
  double across = 0, down = 0;
};

/// `rows` × `columns` places of equal size within the area, row by row, a fifth of a place apart or
/// as far as `least` asks, unless that left the places no room.
std::vector<Box> subplot_places(const Box& area, std::size_t rows, std::size_t columns,
                                const Gaps& least = {});

/// The area split into a part for the axes and a part for the colour bar on its right.
struct ColourBarSplit {
  Box axes, colour_bar;
};
ColourBarSplit split_for_colour_bar(const Box& area);

/// Height over width of a map with square cells, from 1/4 to 2; longer and wider maps have other
/// cells.
double aspect_of(std::size_t rows, std::size_t columns);

/// The largest box at the right of `place` whose cells are square, but for very long and wide maps.
Box with_square_cells(const Box& place, std::size_t rows, std::size_t columns);

/// The largest box within `place` that is `height_to_width` times as high as wide, at the height's
/// middle and, in the width, at `anchor`: 0 left, 1 right.
Box with_aspect(const Box& place, double height_to_width, double anchor);

}  // namespace attn::plot
