#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attn/plot.hpp"
#include "plot/axes.hpp"
#include "plot/canvas.hpp"
#include "plot/text.hpp"

namespace attn::plot {

/// The paper that axes are laid out on, in pixels, and the fonts for it.
class Figure {
 public:
  /// `default_size` in inches is that of a kind of figure. Throws Error(usage) for a size or resolution that makes no picture.
  Figure(const PlotOptions& options, PictureFormat format, std::pair<double, double> default_size);

  double width() const { return width_; }
  double height() const { return height_; }
  Typesetter& typesetter() { return typesetter_; }
  double pixels(double points) const { return typesetter_.pixels(points); }
  double points(double pixels) const { return pixels / typesetter_.pixels(1); }

  /// The margin between the figure's edge and the texts around its axes in a tight layout, in pixels.
  double tight_margin() const;

  /// Makes the file of what lies in `bounds`, and a margin around it, from what `draw` draws.
  Picture picture(const Box& bounds, const std::function<void(Canvas&)>& draw);

 private:
  PictureFormat format_;
  double dpi_;
  Typesetter typesetter_;
  double width_, height_;
};

/// The frame and the ticks of an axes and the texts around it.
void draw_axes(Canvas& canvas, const Axes& axes, const Decorations& decorations, const Figure& figure);

}  // namespace attn::plot
