#include "plot/figure.hpp"

#include <cmath>
#include <cstdio>

#include "attn/error.hpp"

#include "plot/subplots.hpp"

namespace attn::plot {
namespace {

constexpr double kPointsPerInch = 72;
constexpr double kScreenDpi = 100;          // matplotlib's default
constexpr double kLongestText = 2;          // figure widths or heights
constexpr std::size_t kMostLines = 12;      // of a title
constexpr double kCropMargin = 0.1;         // inches
constexpr double kTightMargin = 1.08 * 10;  // points: matplotlib's pad, in font sizes
constexpr double kLongestSide = 1000;       // inches
constexpr double kLeastFontScale = 0.1, kMostFontScale = 20;
constexpr double kLeastDpi = 1, kMostDpi = 10000;

std::string number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", value);
  return buffer;
}

double checked_dpi(double dpi) {
  if (!(dpi >= kLeastDpi && dpi <= kMostDpi)) {
    throw Error(ErrorKind::usage,
                "a resolution of " + number(dpi) + " dots per inch is not possible", "",
                "give one from 1 to 10000, such as 300");
  }
  return dpi;
}

std::pair<double, double> checked_size(std::pair<double, double> size) {
  const auto possible = [](double side) { return side > 0 && side <= kLongestSide; };
  if (!possible(size.first) || !possible(size.second)) {
    throw Error(ErrorKind::usage,
                "a figure size of " + number(size.first) + " × " + number(size.second) +
                    " inches is not possible",
                "", "give the width and height in inches, such as 8x6");
  }
  return size;
}

double checked_font_scale(double scale) {
  if (!(scale >= kLeastFontScale && scale <= kMostFontScale)) {
    throw Error(ErrorKind::usage, "letters " + number(scale) + " times as large are not possible",
                "", "give a font scale from 0.1 to 20, such as 1.5");
  }
  return scale;
}

}  // namespace

Figure::Figure(PictureFormat format, std::pair<double, double> size, double dpi,
               double pixels_per_point, Lettering lettering)
    : format_(format),
      size_(size),
      dpi_(dpi),
      hinted_(lettering == Lettering::hinted),
      typesetter_(pixels_per_point, lettering),
      width_(size.first * kPointsPerInch * pixels_per_point),
      height_(size.second * kPointsPerInch * pixels_per_point) {}

Figure::Figure(const PlotOptions& options, PictureFormat format,
               std::pair<double, double> default_size)
    : Figure(format, checked_size(options.figsize.value_or(default_size)), checked_dpi(options.dpi),
             Canvas::pixels_per_point(format, options.dpi),
             format == PictureFormat::png && options.style == PlotStyle::matplotlib
                 ? Lettering::hinted
                 : Lettering::outlines) {
  wraps_ = options.style == PlotStyle::standard;
  typesetter_.set_font_scale(checked_font_scale(options.font_scale));
}

std::string Figure::bounded(const std::string& text, double points) {
  auto lines = lines_of(text);
  if (lines.size() > kMostLines) {
    lines.resize(kMostLines);
    lines.back() = "\u2026";
  }
  std::string result;
  for (const std::string& line : lines) {
    if (&line != &lines.front()) result += '\n';
    result += shortened(line, points, kLongestText * std::max(width_, height_), typesetter_);
  }
  return result;
}

std::string Figure::title(const std::string& text, double points, double width) {
  // A word alone may still be absurdly long, as may be the number of lines.
  return bounded(wraps_ ? wrapped(text, points, width, typesetter_) : text, points);
}

Box Figure::tight_area(const std::function<Box(Figure&, const Box&)>& decorated) {
  std::optional<Figure> screen;
  if (hinted_) {
    screen.emplace(
        Figure(format_, size_, kScreenDpi, kScreenDpi / kPointsPerInch, Lettering::hinted_measure));
    screen->typesetter_.set_font_scale(font_scale());
  }
  Figure& measured = screen ? *screen : *this;
  const Box area = default_subplot_area(measured.width(), measured.height());
  const Box tight = tight_subplot_area(area, decorated(measured, area), measured.width(),
                                       measured.height(), measured.pixels(kTightMargin));
  const double across = width_ / measured.width(), down = height_ / measured.height();
  return {tight.left * across, tight.top * down, tight.right * across, tight.bottom * down};
}

Picture Figure::picture(const Box& bounds, const std::function<void(Canvas&)>& draw) {
  // By way of inches from the lower left corner: the same numbers as in matplotlib, so that they
  // round to the same pixels.
  const double scale = pixels(kPointsPerInch), inches = 1 / scale;
  const double left = bounds.left * inches - kCropMargin;
  const double right = bounds.right * inches + kCropMargin;
  const double low = (height_ - bounds.bottom) * inches - kCropMargin;
  const double high = (height_ - bounds.top) * inches + kCropMargin;
  const Point lower_left = {left * scale, height_ - low * scale};
  Canvas canvas(format_, lower_left, (right - left) * scale, (high - low) * scale, dpi_);
  draw(canvas);
  return {canvas.finish(), typesetter_.warnings(), canvas.texts()};
}

void draw_axes(Canvas& canvas, const Axes& axes, const Decorations& decorations,
               const Figure& figure) {
  const double line_width = figure.pixels(kLineWidth);
  const double length = figure.pixels(kTickLength);
  const Box& box = axes.box;
  if (axes.x.drawn) {
    for (const Tick& tick : axes.x.ticks) {
      canvas.tick({box.left + tick.position * box.width(), box.bottom}, 0, length, kBlack,
                  line_width);
    }
    for (const double position : axes.x.minor_ticks) {
      canvas.tick({box.left + position * box.width(), box.bottom}, 0,
                  figure.pixels(kMinorTickLength), kBlack, figure.pixels(kMinorTickWidth));
    }
  }
  if (axes.y.drawn) {
    const double x = axes.y_on_right ? box.right : box.left;
    for (const Tick& tick : axes.y.ticks) {
      canvas.tick({x, box.bottom - tick.position * box.height()},
                  axes.y_on_right ? length : -length, 0, kBlack, line_width);
    }
    const double minor_length = figure.pixels(kMinorTickLength);
    for (const double position : axes.y.minor_ticks) {
      canvas.tick({x, box.bottom - position * box.height()},
                  axes.y_on_right ? minor_length : -minor_length, 0, kBlack,
                  figure.pixels(kMinorTickWidth));
    }
  }
  canvas.stroke(box, kBlack, line_width);
  for (const PlacedText& text : decorations.texts) canvas.text(text, kBlack);
}

}  // namespace attn::plot
