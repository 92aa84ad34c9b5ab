#include "plot/axes/figure.hpp"

#include <cmath>
#include <cstdio>
#include <utility>

#include "attn/error.hpp"

#include "plot/axes/subplots.hpp"

namespace attn::plot {
namespace {

constexpr double screen_dpi = 100;          // matplotlib's default
constexpr double longest_text = 2;          // figure widths or heights
constexpr std::size_t most_lines = 12;      // of a title
constexpr double crop_margin = 0.1;         // inches
constexpr double tight_margin = 1.08 * 10;  // points: matplotlib's pad, in font sizes
constexpr double longest_inches = 1000;     // inches
constexpr double least_font_scale = 0.1, most_font_scale = 20;
constexpr double least_dpi = 1, most_dpi = 10000;

std::string number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", value);
  return buffer;
}

double checked_dpi(double dpi) {
  if (!(dpi >= least_dpi && dpi <= most_dpi)) {
    throw Error(ErrorKind::usage,
                "a resolution of " + number(dpi) + " dots per inch is not possible", "",
                "give one from 1 to 10000, such as 300");
  }
  return dpi;
}

std::pair<double, double> checked_size(std::pair<double, double> size) {
  const auto possible = [](double side) { return side > 0 && side <= longest_inches; };
  if (!possible(size.first) || !possible(size.second)) {
    throw Error(ErrorKind::usage,
                "a figure size of " + number(size.first) + " × " + number(size.second) +
                    " inches is not possible",
                "", "give the width and height in inches, such as 8x6");
  }
  return size;
}

double checked_font_scale(double scale) {
  if (!(scale >= least_font_scale && scale <= most_font_scale)) {
    throw Error(ErrorKind::usage, "letters " + number(scale) + " times as large are not possible",
                "", "give a font scale from 0.1 to 20, such as 1.5");
  }
  return scale;
}

}  // namespace

Figure::Figure(std::optional<DrawingRoom> room, PictureFormat format,
               std::pair<double, double> size, double dpi, double pixels_per_point,
               Lettering lettering)
    : room_(std::move(room)),
      format_(format),
      size_(size),
      dpi_(dpi),
      hinted_(lettering == Lettering::hinted),
      typesetter_(pixels_per_point, lettering),
      width_(size.first * points_per_inch * pixels_per_point),
      height_(size.second * points_per_inch * pixels_per_point) {}

Figure::Figure(const PlotOptions& options, PictureFormat format,
               std::pair<double, double> default_size)
    : Figure(std::make_optional<DrawingRoom>(), format,
             checked_size(options.figsize.value_or(default_size)), checked_dpi(options.dpi),
             Canvas::pixels_per_point(format, options.dpi),
             format == PictureFormat::png && options.style == PlotStyle::matplotlib
                 ? Lettering::hinted
                 : Lettering::outlines) {
  wraps_ = options.style == PlotStyle::standard;
  provenance_ = options.provenance;
  typesetter_.set_font_scale(checked_font_scale(options.font_scale));
}

std::string Figure::bounded(const std::string& text, double points) {
  auto lines = lines_of(text);
  if (lines.size() > most_lines) {
    lines.resize(most_lines);
    lines.back() = "\u2026";
  }
  std::string result;
  for (const std::string& line : lines) {
    if (&line != &lines.front()) result += '\n';
    result += shortened(line, points, longest_text * std::max(width_, height_), typesetter_);
  }
  return result;
}

std::string Figure::title(const std::string& text, double points, double width) {
  // More is on no figure, and words are broken one by one.
  constexpr std::size_t most_bytes = 8192;
  const std::string start = text.size() > most_bytes
                                ? text.substr(0, whole_characters(text, most_bytes)) + "\u2026"
                                : text;
  // A word alone may still be absurdly long, as may be the number of lines.
  return bounded(wraps_ ? wrapped(start, points, width, typesetter_) : start, points);
}

Box Figure::tight_area(const std::function<Box(Figure&, const Box&)>& decorated) {
  std::optional<Figure> screen;
  if (hinted_) {
    screen.emplace(Figure({}, format_, size_, screen_dpi, screen_dpi / points_per_inch,
                          Lettering::hinted_measure));
    screen->typesetter_.set_font_scale(font_scale());
  }
  Figure& measured = screen ? *screen : *this;
  const Box area = default_subplot_area(measured.width(), measured.height());
  const Box tight = tight_subplot_area(area, decorated(measured, area), measured.width(),
                                       measured.height(), measured.pixels(tight_margin));
  const double across = width_ / measured.width(), down = height_ / measured.height();
  return {tight.left * across, tight.top * down, tight.right * across, tight.bottom * down};
}

Picture Figure::picture(const Box& bounds, const std::function<void(Canvas&)>& draw) {
  // By way of inches from the lower left corner: the same numbers as in matplotlib, so that they
  // round to the same pixels.
  const double scale = pixels(points_per_inch), inches = 1 / scale;
  const double left = bounds.left * inches - crop_margin;
  const double right = bounds.right * inches + crop_margin;
  const double low = (height_ - bounds.bottom) * inches - crop_margin;
  const double high = (height_ - bounds.top) * inches + crop_margin;
  const Point lower_left = {left * scale, height_ - low * scale};
  Canvas canvas(format_, lower_left, (right - left) * scale, (high - low) * scale, dpi_);
  draw(canvas);
  return {canvas.finish(provenance_), typesetter_.warnings(), canvas.texts()};
}

void draw_axes(Canvas& canvas, const Axes& axes, const Decorations& decorations,
               const Figure& figure) {
  const double line_width = figure.pixels(frame_width);
  const double length = figure.pixels(tick_length);
  const Box& box = axes.box;
  if (axes.x.drawn) {
    for (const Tick& tick : axes.x.ticks) {
      canvas.tick({box.left + tick.position * box.width(), box.bottom}, 0, length, black,
                  line_width);
    }
    for (const double position : axes.x.minor_ticks) {
      canvas.tick({box.left + position * box.width(), box.bottom}, 0,
                  figure.pixels(minor_tick_length), black, figure.pixels(minor_tick_width));
    }
  }
  if (axes.y.drawn) {
    const double x = axes.y_on_right ? box.right : box.left;
    for (const Tick& tick : axes.y.ticks) {
      canvas.tick({x, box.bottom - tick.position * box.height()},
                  axes.y_on_right ? length : -length, 0, black, line_width);
    }
    const double minor_length = figure.pixels(minor_tick_length);
    for (const double position : axes.y.minor_ticks) {
      canvas.tick({x, box.bottom - position * box.height()},
                  axes.y_on_right ? minor_length : -minor_length, 0, black,
                  figure.pixels(minor_tick_width));
    }
  }
  canvas.stroke(box, black, line_width);
  for (const PlacedText& text : decorations.texts) canvas.text(text, black);
}

}  // namespace attn::plot
