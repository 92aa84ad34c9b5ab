#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/plot.hpp"

#include "plot/axes/axes.hpp"
#include "plot/canvas/canvas.hpp"
#include "plot/canvas/drawing_room.hpp"
#include "plot/colour/paper.hpp"
#include "plot/text/text.hpp"
#include "support/in_english.hpp"

namespace attn::plot {

/// The paper that axes are laid out on, in pixels, and the fonts for it.
class Figure {
 public:
  /// `default_size` in inches is that of a kind of figure. Throws Error(usage) for a size or
  /// resolution that makes no picture.
  Figure(const FigureOptions& options, PictureFormat format,
         std::pair<double, double> default_size);

  double width() const { return width_; }
  double height() const { return height_; }
  Typesetter& typesetter() { return typesetter_; }
  PlotStyle style() const { return style_; }
  const Paper& paper() const { return paper_; }
  double font_scale() const { return typesetter_.font_scale(); }
  double pixels(double points) const { return typesetter_.pixels(points); }
  double points(double pixels) const { return pixels / typesetter_.pixels(1); }

  /// Makes all that is written smaller, and then less, until `fits` says that enough room is left:
  /// first letters down to six points, then the texts of one level after another, of `levels`, then
  /// letters again. The font scale stays as it was found. `fits` lays the figure out: the last call
  /// is what stays, the only one in the matplotlib style, which changes nothing.
  void fit(int levels, const std::function<bool(int given_way)>& fits);

  /// A title or an axis label of which no line is absurdly longer than the figure, shortened if
  /// need be.
  std::string bounded(const std::string& text, double points);

  /// The name of an axis `length` pixels long: in the standard style its lines are broken at spaces
  /// to be no longer than that.
  std::string label(const std::string& text, double points, double length);

  /// The same for a title above something `width` pixels wide: in the standard style its lines are
  /// broken at spaces to be no wider than that.
  std::string title(const std::string& text, double points, double width);

  /// The area for the axes that leaves all around it as much room as is written there: `decorated`
  /// says what an area of a figure takes with its texts. The matplotlib style measures at the
  /// resolution of a screen, as matplotlib does.
  Box tight_area(const std::function<Box(Figure&, const Box&)>& decorated);

  /// What the figure shows, in words, for those who cannot see it; the title names it.
  void describe(const std::string& title, const std::string& description);

  /// Makes the file of what lies in `bounds`, and a margin around it, from what `draw` draws,
  /// whenever it is asked to: a large raster is drawn in bands.
  Picture picture(const Box& bounds, const std::function<void(Canvas&)>& draw);

 private:
  Figure(std::optional<DrawingRoom> room, PictureFormat format, std::pair<double, double> size,
         double dpi, double pixels_per_point, Lettering lettering, bool english);

  std::shared_ptr<const InEnglish> english_;  ///< in the matplotlib style, until all is drawn
  std::optional<DrawingRoom> room_;  ///< absent where a figure is only measured for another
  PictureFormat format_;
  FileText words_;
  Paper paper_;
  Letters letters_ = Letters::text;
  std::size_t threads_ = 0;
  std::pair<double, double> size_;  ///< inches
  double dpi_;
  PlotStyle style_ = PlotStyle::standard;
  bool wraps_ = false;  ///< whether titles are broken into lines
  bool hinted_;         ///< as in the matplotlib style on a raster
  Typesetter typesetter_;
  double width_, height_;
};

/// Whether a figure keeps its size and its map most of the room: `place` is where the map may be,
/// `all` what everything takes.
bool leaves_room(const Figure& figure, const Box& place, const Box& map, const Box& all);

/// The frame and the ticks of an axes and the texts around it.
void draw_axes(Canvas& canvas, const Axes& axes, const Decorations& decorations,
               const Figure& figure);

}  // namespace attn::plot
