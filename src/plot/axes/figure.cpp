#include "plot/axes/figure.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/error.hpp"

#include "plot/axes/subplots.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn::plot {
namespace {

constexpr double screen_dpi = 100;          // matplotlib's default
constexpr double longest_text = 2;          // figure widths or heights
constexpr std::size_t most_lines = 12;      // of a title
constexpr double crop_margin = 0.1;         // inches
constexpr double tight_margin = 1.08 * 10;  // points: matplotlib's pad, in font sizes
constexpr double longest_inches = 1000;     // inches
constexpr double least_font_scale = 0.1, most_font_scale = 20;
constexpr double smaller = 0.87;        // from one size of letters that is tried to the next
constexpr double readable_scale = 0.6;  // of ten points
constexpr double least_scale = 0.15;
constexpr double least_dpi = 1, most_dpi = 10000;

double checked_dpi(double dpi) {
  if (!(dpi >= least_dpi && dpi <= most_dpi)) {
    throw Error(
        ErrorKind::usage,
        translated("a resolution of {1} dots per inch is not possible", with_digits(dpi, 6)), "",
        translated("give one from 1 to 10000, such as 300"));
  }
  return dpi;
}

std::pair<double, double> checked_size(std::pair<double, double> size) {
  const auto possible = [](double side) { return side > 0 && side <= longest_inches; };
  if (!possible(size.first) || !possible(size.second)) {
    throw Error(ErrorKind::usage,
                translated("a figure size of {1} × {2} inches is not possible",
                           with_digits(size.first, 6), with_digits(size.second, 6)),
                "", translated("give the width and height in inches, such as 8x6"));
  }
  return size;
}

double checked_font_scale(double scale) {
  if (!(scale >= least_font_scale && scale <= most_font_scale)) {
    throw Error(ErrorKind::usage,
                translated("letters {1} times as large are not possible", with_digits(scale, 6)),
                "", translated("give a font scale from 0.1 to 20, such as 1.5"));
  }
  return scale;
}

}  // namespace

Figure::Figure(std::optional<DrawingRoom> room, PictureFormat format,
               std::pair<double, double> size, double dpi, double pixels_per_point,
               Lettering lettering, bool english)
    : english_(english ? std::make_shared<const InEnglish>(true) : nullptr),
      room_(std::move(room)),
      format_(format),
      size_(size),
      dpi_(dpi),
      hinted_(lettering == Lettering::hinted),
      typesetter_(pixels_per_point, lettering),
      width_(size.first * points_per_inch * pixels_per_point),
      height_(size.second * points_per_inch * pixels_per_point) {}

Figure::Figure(const FigureOptions& options, PictureFormat format,
               std::pair<double, double> default_size)
    : Figure(std::make_optional<DrawingRoom>(), format,
             checked_size(options.figsize.value_or(default_size)), checked_dpi(options.dpi),
             Canvas::pixels_per_point(format, options.dpi),
             format == PictureFormat::png && options.style == PlotStyle::matplotlib
                 ? Lettering::hinted
                 : Lettering::outlines,
             options.style == PlotStyle::matplotlib) {
  style_ = options.style;
  wraps_ = options.style == PlotStyle::standard;
  words_.provenance = options.provenance;
  paper_ = paper_of(options);
  letters_ = options.letters;
  threads_ = options.threads;
  typesetter_.set_font_scale(checked_font_scale(options.font_scale));
}

std::string Figure::bounded(const std::string& text, double points) {
  auto lines = lines_of(text);
  if (lines.size() > most_lines) {
    lines.resize(most_lines);
    lines.back() = "\u2026";
  }
  std::string result;
  const double longest = wraps_ ? 1 : longest_text;
  for (const std::string& line : lines) {
    if (&line != &lines.front()) result += '\n';
    result += shortened(line, points, longest * std::max(width_, height_), typesetter_);
  }
  return result;
}

std::string Figure::title(const std::string& text, double points, double width) {
  // More is on no figure, and words are broken one by one.
  constexpr std::size_t most_bytes = 8192;
  const std::string start = text.size() > most_bytes
                                ? text.substr(0, whole_characters(text, most_bytes)) + "\u2026"
                                : text;
  // A word alone may still be longer, and there may be absurdly many lines.
  if (!wraps_) return bounded(start, points);
  std::string result;
  for (const std::string& line :
       lines_of(bounded(wrapped(start, points, width, typesetter_), points))) {
    if (!result.empty()) result += '\n';
    result += shortened(line, points, width, typesetter_);
  }
  return result;
}

void Figure::describe(const std::string& title, const std::string& description) {
  words_.title = title;
  std::replace(words_.title.begin(), words_.title.end(), '\n', ' ');
  words_.description = description;
}

std::string Figure::label(const std::string& text, double points, double length) {
  return wraps_ ? title(text, points, length) : bounded(text, points);
}

void Figure::fit(int levels, const std::function<bool(int given_way)>& fits) {
  if (!wraps_) {
    fits(0);
    return;
  }
  const double asked = font_scale();
  const auto fits_at = [&](double scale, int level) {
    typesetter_.set_font_scale(scale);
    return fits(level);
  };
  const double readable = std::min(asked, readable_scale);
  for (double scale = asked; scale > readable; scale *= smaller) {  // NOLINT: a size
    if (fits_at(scale, 0)) return;
  }
  for (int level = 0; level <= levels; ++level) {
    if (fits_at(readable, level)) return;
  }
  // NOLINTNEXTLINE: a size
  for (double scale = readable * smaller; scale > least_scale; scale *= smaller) {
    if (fits_at(scale, levels)) return;
  }
}

Box Figure::tight_area(const std::function<Box(Figure&, const Box&)>& decorated) {
  std::optional<Figure> screen;
  if (hinted_) {
    screen.emplace(Figure({}, format_, size_, screen_dpi, screen_dpi / points_per_inch,
                          Lettering::hinted_measure, false));
    screen->style_ = style_;
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
  Canvas canvas(format_, lower_left, (right - left) * scale, (high - low) * scale, dpi_, paper_,
                letters_);
  canvas.draw(draw, threads_);
  return {canvas.finish(words_), typesetter_.warnings(), canvas.texts(), canvas.frames(),
          words_.description};
}

bool leaves_room(const Figure& figure, const Box& place, const Box& map, const Box& all) {
  constexpr double least_share = 0.4, least_map = 0.12;  // of the figure's sides
  constexpr double beyond = 1.005;
  return all.width() <= beyond * figure.width() && all.height() <= beyond * figure.height() &&
         place.width() >= least_share * figure.width() &&
         place.height() >= least_share * figure.height() &&
         map.width() >= least_map * figure.width() && map.height() >= least_map * figure.height();
}

void draw_axes(Canvas& canvas, const Axes& axes, const Decorations& decorations,
               const Figure& figure) {
  const Colour ink = figure.paper().ink;
  const double line_width = figure.pixels(axes.line_width);
  const double length = figure.pixels(tick_length);
  const double minor_length = figure.pixels(minor_tick_length);
  const Box& box = axes.box;
  std::vector<Canvas::Tick> ticks, minor_ticks;
  if (axes.x.drawn) {
    const auto at = [&](double position, double down) {
      return Canvas::Tick{{box.left + position * box.width(), box.bottom}, 0, down};
    };
    for (const Tick& tick : axes.x.ticks) ticks.push_back(at(tick.position, length));
    for (const double position : axes.x.minor_ticks) {
      minor_ticks.push_back(at(position, minor_length));
    }
  }
  if (axes.y.drawn) {
    const double side = axes.y_on_right ? 1 : -1;
    const auto at = [&](double position, double out) {
      return Canvas::Tick{
          {axes.y_on_right ? box.right : box.left, box.bottom - position * box.height()},
          side * out,
          0};
    };
    for (const Tick& tick : axes.y.ticks) ticks.push_back(at(tick.position, length));
    for (const double position : axes.y.minor_ticks) {
      minor_ticks.push_back(at(position, minor_length));
    }
  }
  canvas.ticks(ticks, ink, line_width);
  canvas.ticks(minor_ticks, ink, figure.pixels(minor_tick_width));
  canvas.frame(box, ink, line_width);
  for (const PlacedText& text : decorations.texts) canvas.text(text, ink);
}

}  // namespace attn::plot
