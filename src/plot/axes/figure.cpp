#include "plot/axes/figure.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/error.hpp"

#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn::plot {
namespace {

// matplotlib's defaults: figure.subplot.* and Figure.colorbar.
constexpr double default_left = 0.125, default_right = 0.9, default_top = 0.88,
                 default_bottom = 0.11;
constexpr double usual_gap = 0.2;          // between places, of a place's size
constexpr double least_place = 0.3;        // of what a place would have with the usual gap
constexpr double colour_bar_width = 0.15;  // of the area
constexpr double colour_bar_gap = 0.05;    // of the area

constexpr double screen_dpi = 100;          // matplotlib's default
constexpr double longest_text = 2;          // figure widths or heights
constexpr std::size_t most_lines = 12;      // of a title
constexpr double crop_margin = 0.1;         // inches
constexpr double tight_margin = 1.08 * 10;  // points: matplotlib's pad, in font sizes
constexpr double longest_inches = 1000;     // inches
constexpr double least_font_scale = 0.1, most_font_scale = 20;
constexpr double size_step = 0.87;      // from one size of letters that is tried to the next
constexpr double usual_letters = 10;    // points
constexpr double readable_scale = 0.5;  // of these
constexpr double narrow_width = 4;      // inches; figures below have short texts and no title
// Letters of figures that are to be printed as they are: of their usual size from the first width
// on, in inches, and six and a half points at that of a column of print.
constexpr double usual_width = 8, column_width = 3.25, column_scale = 0.65;
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
                translated("a font scale of {1} is not possible", with_digits(scale, 6)), "",
                translated("give a font scale from 0.1 to 20, such as 1.5, or "
                           "FigureOptions::font_size in points"));
  }
  return scale;
}

// The scale of letters so many points large.
double scale_of_letters(double points) {
  constexpr double least = 1, most = 200;
  if (!(points >= least && points <= most)) {
    throw Error(ErrorKind::usage,
                translated("letters of {1} points are not possible", with_digits(points, 6)), "",
                translated("give a size from 1 to 200 points, such as 8"));
  }
  return points / usual_letters;
}

// The size of each of several places along an axis and the gap between them.
struct Spacing {
  double size, gap;
};

Spacing spacing(double length, std::size_t places, double least_gap) {
  const double count = static_cast<double>(places);
  const double size = length / (count + usual_gap * (count - 1));
  const double smaller = (length - least_gap * (count - 1)) / count;
  if (least_gap <= usual_gap * size || smaller < least_place * size)
    return {size, usual_gap * size};
  return {smaller, least_gap};
}

// Factor of the letters of a figure so wide.
double scale_of_width(double inches) {
  const double share = (inches - column_width) / (usual_width - column_width);
  return std::clamp(column_scale + share * (1 - column_scale), readable_scale, 1.0);
}

// Size that is asked for, or the usual one. A height that is not asked for is the usual one of such
// a width.
std::pair<double, double> size_of(const FigureOptions& options, std::pair<double, double> usual) {
  std::pair<double, double> size =
      options.panel != nullptr ? options.panel->size : options.figsize.value_or(usual);
  if (size.second == 0) size.second = size.first * usual.second / usual.first;
  return size;
}

// The first family of a list that is installed.
std::string family_of(const FigureOptions& options) {
  if (!options.font || options.font->find(',') == std::string::npos)
    return options.font.value_or(usual_family);
  for (std::size_t at = 0; at < options.font->size();) {
    const std::size_t end = std::min(options.font->find(',', at), options.font->size());
    std::string family = options.font->substr(at, end - at);
    family.erase(0, family.find_first_not_of(' '));
    if (!family.empty() && is_installed(family)) return family;
    at = end + 1;
  }
  return usual_family;
}

// Size of the figure within the margins that the picture has around it.
std::pair<double, double> within_margins(const FigureOptions& options,
                                         std::pair<double, double> size) {
  if (options.panel != nullptr || !options.figsize || options.style == PlotStyle::matplotlib)
    return size;
  const auto within = [](double side) { return std::max(side - 2 * crop_margin, side / 2); };
  return {within(size.first), within(size.second)};
}

// Whether millimetres or pixels were taken for inches: posters are smaller.
bool is_absurd(std::pair<double, double> inches) {
  constexpr double longest = 60;
  return std::max(inches.first, inches.second) > longest;
}

std::string in_millimetres(std::pair<double, double> size) {
  std::string text = "FigureOptions::figsize " + with_digits(size.first, 6) + "mm";
  if (size.second > 0) text += "x" + with_digits(size.second, 6) + "mm";
  return text;
}

// Whether a text has a command, an index or a power between dollars.
bool looks_like_tex(const std::string& text) {
  const std::size_t begin = text.find('$'), end = text.find('$', begin + 1);
  return begin != text.npos && end != text.npos &&
         text.substr(begin, end - begin).find_first_of("\\^_") != text.npos;
}

// The side of a picture that misses a whole number of pixels by rounding errors alone is that
// number.
double without_rounding_error(double side) {
  constexpr double error = 1e-3;
  const double whole = std::round(side);
  return std::abs(side - whole) < error ? whole : side;
}

}  // namespace

bool Shown::operator()(Part part) const {
  return std::find(left_out_.begin(), left_out_.end(), part) == left_out_.end();
}

Figure::Figure(std::optional<DrawingRoom> room, PictureFormat format,
               std::pair<double, double> size, double dpi, double pixels_per_point,
               Lettering lettering, PlotStyle style, const std::string& font)
    : english_(room && style == PlotStyle::matplotlib ? std::make_shared<const InEnglish>(true)
                                                      : nullptr),
      room_(std::move(room)),
      format_(format),
      style_(style),
      font_(font),
      size_(size),
      dpi_(dpi),
      hinted_(lettering == Lettering::hinted),
      typesetter_(pixels_per_point, lettering, font),
      width_(size.first * points_per_inch * pixels_per_point),
      height_(size.second * points_per_inch * pixels_per_point) {}

Figure::Figure(const FigureOptions& options, PictureFormat format,
               std::pair<double, double> default_size)
    : Figure(std::make_optional<DrawingRoom>(), format,
             within_margins(options, checked_size(size_of(options, default_size))),
             checked_dpi(options.dpi), Canvas::pixels_per_point(format, options.dpi),
             format == PictureFormat::png && options.style == PlotStyle::matplotlib
                 ? Lettering::hinted
                 : Lettering::outlines,
             options.style, family_of(options)) {
  words_.provenance = options.provenance;
  paper_ = paper_of(options);
  letters_ = options.letters;
  threads_ = options.threads;
  panel_ = options.panel;
  frame_width_ = options.frame_width;
  seen_from_ = standard() ? std::max(1.0, frame_width_ / FigureOptions().frame_width) : 1;
  asked_size_ = (options.figsize || panel_ != nullptr) && standard();
  exact_size_ = options.exact_size && options.figsize.has_value();
  free_height_ = options.figsize && options.figsize->second == 0;
  if (panel_ != nullptr) {
    typesetter_.set_font_scale(panel_->font_scale);
    return;
  }
  const double scale = checked_font_scale(options.font_scale);
  // Letters that were made small already do not shrink twice.
  const double of_width = asked_size_ ? scale_of_width(size_.first) : 1;
  typesetter_.set_font_scale(options.font_size ? scale_of_letters(*options.font_size)
                             : scale < 1       ? std::min(scale, of_width)
                                               : scale * of_width);
  given_size_ = options.figsize.value_or(given_size_);
  given_scale_ = scale;
  given_letters_ = options.font_size;
  first_scale_ = font_scale();
}

bool Figure::narrow() const {
  return asked_size_ && (panel_ != nullptr || size_.first + 2 * crop_margin < narrow_width);
}

std::string Figure::bounded(const std::string& text, double points) {
  auto lines = lines_of(text);
  if (lines.size() > most_lines) {
    lines.resize(most_lines);
    lines.back() = "\u2026";
  }
  std::string result;
  const double longest = standard() ? 1 : longest_text;
  for (const std::string& line : lines) {
    if (&line != &lines.front()) result += '\n';
    result += shortened(line, points, longest * std::max(width_, height_), typesetter_);
  }
  return result;
}

namespace {

// A line broken at spaces to be no wider than that. Where only a few words would stand in the last
// line, all lines are about as long.
std::string balanced(const std::string& line, double points, double width, Typesetter& typesetter) {
  constexpr double few = 0.3;  // of the width
  std::string result = wrapped(line, points, width, typesetter);
  const auto count = std::ranges::count(result, '\n');
  const auto last = [&] { return typesetter.text(lines_of(result).back(), points).width; };
  if (count == 0 || last() >= few * width) return result;
  constexpr int steps = 12;
  double low = width / static_cast<double>(count + 1), high = width;
  for (int step = 0; step < steps; ++step) {
    const double middle = (low + high) / 2;
    const std::string narrower = wrapped(line, points, middle, typesetter);
    const bool alike = std::ranges::count(narrower, '\n') == count;
    if (alike) result = narrower;
    (alike ? high : low) = middle;
  }
  return result;
}

}  // namespace

std::string Figure::title(const std::string& text, double points, double width) {
  // More is on no figure, and words are broken one by one.
  constexpr std::size_t most_bytes = 8192;
  const std::string start = text.size() > most_bytes
                                ? text.substr(0, whole_characters(text, most_bytes)) + "\u2026"
                                : text;
  // A word alone may still be longer, and there may be absurdly many lines.
  if (!standard()) return bounded(start, points);
  // Words in brackets at the end of a line that is too long have a line of their own.
  std::string broken;
  for (std::string line : lines_of(start)) {
    const std::size_t bracket = line.rfind(" (");
    if (bracket != std::string::npos && line.ends_with(')') &&
        typesetter_.text(line, points).width > width &&
        typesetter_.text(line.substr(0, bracket), points).width <= width) {
      line[bracket] = '\n';
    }
    broken += (broken.empty() ? "" : "\n") + line;
  }
  std::string lines;
  for (const std::string& line : lines_of(broken))
    lines += (lines.empty() ? "" : "\n") + balanced(line, points, width, typesetter_);
  std::string result;
  for (const std::string& line : lines_of(bounded(lines, points))) {
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

void Figure::note_colours(Interval range) {
  if (panel_ == nullptr) return;
  if (panel_->colours) {
    range = {std::min(range.low, panel_->colours->low),
             std::max(range.high, panel_->colours->high)};
  }
  panel_->colours = range;
}

void Figure::note_names(bool shown) {
  if (panel_ != nullptr) panel_->names = shown;
}

void Figure::note_named_cells(bool any) {
  if (panel_ != nullptr) panel_->cells_named = any;
}

Box Figure::map_in_panel(Box box, std::size_t rows, std::size_t columns) const {
  if (panel_ == nullptr) return box;
  if (panel_->widest_map > 0 && box.width() > panel_->widest_map) {
    const double height = box.height() * panel_->widest_map / box.width(), middle = box.centre();
    box = {box.right - panel_->widest_map, middle - height / 2, box.right, middle + height / 2};
  }
  panel_->map = {rows, columns, box.width()};
  return box;
}

std::string Figure::label(const std::string& text, double points, double length) {
  if (!standard()) return bounded(text, points);
  // Words of usual length stay whole, though they are longer than a short axis.
  constexpr std::size_t longest_whole = 16;  // bytes
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    if (end - at <= longest_whole) {
      length = std::max(length, typesetter_.text(text.substr(at, end - at), points).width);
    }
    at = end + 1;
  }
  return title(text, points, std::min(length, std::max(width_, height_)));
}

double Figure::line(double points) const {
  return pixels(points) * seen_from_;
}

double Figure::least_letters() const {
  return usual_letters * readable_scale * seen_from_;
}

double Figure::pixels_beside_text(double points) const {
  return pixels(points) * std::min(1.0, font_scale());
}

void Figure::fit(std::span<const Part> order, const std::function<bool(const Shown&)>& fits) {
  if (!standard()) {
    fits({order, 0});
    return;
  }
  const double asked = font_scale();
  const auto fits_at = [&](double scale, std::size_t left_out) {
    typesetter_.set_font_scale(scale);
    const Shown shown(order, left_out);
    if (panel_ != nullptr) {
      panel_->left_out = left_out;
      panel_->names.reset();
    }
    const bool fitted = fits(shown);
    if (!shown(Part::tick_labels) && panel_ != nullptr && panel_->names) panel_->names = false;
    return fitted;
  };
  const double readable = std::min(asked, readable_scale * seen_from_);
  for (double scale = asked; scale > readable; scale *= size_step) {  // NOLINT: a size
    if (fits_at(scale, 0)) return;
  }
  for (std::size_t left_out = 0; left_out <= order.size(); ++left_out) {
    if (fits_at(readable, left_out)) return;
  }
  // NOLINTNEXTLINE: a size
  for (double scale = readable * size_step; scale > least_scale; scale *= size_step) {
    if (fits_at(scale, order.size())) return;
  }
}

Box Figure::tight_area(const std::function<Box(Figure&, const Box&)>& decorated) {
  std::optional<Figure> screen;
  if (hinted_) {
    screen.emplace(Figure({}, format_, size_, screen_dpi, screen_dpi / points_per_inch,
                          Lettering::hinted_measure, style_, font_));
    screen->typesetter_.set_font_scale(font_scale());
  }
  Figure& measured = screen ? *screen : *this;
  const Box area = default_subplot_area(measured.width(), measured.height());
  // Where the width is exact, there is room around the figure already.
  const double pad = panel_ != nullptr || free_height_ ? 0 : measured.pixels(tight_margin);
  const Box tight =
      tight_subplot_area(area, decorated(measured, area), measured.width(), measured.height(), pad);
  const double across = width_ / measured.width(), down = height_ / measured.height();
  return {tight.left * across, tight.top * down, tight.right * across, tight.bottom * down};
}

std::vector<std::string> Figure::warnings() const {
  std::vector<std::string> all = typesetter_.warnings();
  // Those of presets shrink where they must, as their pages say.
  constexpr double largest_of_presets = 2.6, much_smaller = 0.75;
  if (panel_ == nullptr) {
    if (auto warning = limited_letters(given_letters_, font_scale())) all.push_back(*warning);
  }
  if (standard() && panel_ == nullptr && !given_letters_ && given_scale_ > largest_of_presets &&
      font_scale() < much_smaller * first_scale_) {
    all.push_back(translated(
        "FigureOptions::font_scale {1} is limited to {2}: larger letters do not fit; it is a "
        "factor, not points: 1 is the usual size, 1.5 half as large again",
        with_digits(given_scale_, 3), with_digits(given_scale_ * font_scale() / first_scale_, 2)));
  }
  if (is_absurd(given_size_)) {
    all.push_back(translated("FigureOptions::figsize is in inches: for millimetres write {1}",
                             in_millimetres(given_size_)));
  }
  if (looks_like_tex(words_.title)) {
    all.push_back(translated("there is no TeX in titles: write the letters themselves, such as α"));
  }
  return all;
}

void Figure::open(std::optional<Canvas>& canvas, Point lower_left, double width,
                  double height) const {
  try {
    canvas.emplace(format_, lower_left, width, height, dpi_, paper_, letters_);
  } catch (const Error& error) {
    if (!is_absurd(given_size_)) throw;
    throw Error(
        error.kind(), error.problem(), "FigureOptions::figsize",
        translated("sizes are in inches: for millimetres write {1}", in_millimetres(given_size_)));
  }
}

Picture Figure::sheet(const std::function<void(Canvas&)>& draw) {
  const double unit = pixels(points_per_inch);
  const double width = without_rounding_error((size_.first + 2 * crop_margin) * unit);
  const double height = without_rounding_error((size_.second + 2 * crop_margin) * unit);
  Canvas canvas(format_, {0, height}, width, height, dpi_, paper_, letters_, true);
  canvas.draw(draw, threads_);
  return {canvas.finish(words_), warnings(),         canvas.texts(),
          canvas.frames(),       words_.description, words_.caption};
}

Picture Figure::picture(const Box& bounds, const std::function<void(Canvas&)>& draw) {
  if (panel_ != nullptr) {
    panel_->width = bounds.width();
    panel_->height = bounds.height();
    panel_->fitted_scale = font_scale();
    if (panel_->canvas != nullptr) {
      panel_->canvas->move({panel_->corner.x - bounds.left, panel_->corner.y - bounds.top});
      draw(*panel_->canvas);
    }
    return {"", typesetter_.warnings(), {}, {}, words_.description, words_.caption};
  }
  // Inches from the lower left corner give the numbers of matplotlib, so that they round to its
  // pixels.
  const double scale = pixels(points_per_inch), inches = 1 / scale;
  double left = bounds.left * inches - crop_margin;
  double right = bounds.right * inches + crop_margin;
  double low = (height_ - bounds.bottom) * inches - crop_margin;
  double high = (height_ - bounds.top) * inches + crop_margin;
  // A size that was asked for is never exceeded; the bounds are in the middle of an exact one.
  const auto limit = [&](double& from, double& to, double most, bool exact) {
    const double beyond = to - from - most;
    if (!(exact || beyond > 0)) return;
    from += beyond / 2;
    to = from + most;
  };
  if (asked_size_ || exact_size_) {
    limit(left, right, size_.first + 2 * crop_margin, exact_size_);
    if (!free_height_) limit(low, high, size_.second + 2 * crop_margin, exact_size_);
  }
  const Point lower_left = {left * scale, height_ - low * scale};
  double width = (right - left) * scale, height = (high - low) * scale;
  if (exact_size_) {
    width = without_rounding_error(width);
    height = without_rounding_error(height);
  }
  std::optional<Canvas> canvas;
  open(canvas, lower_left, width, height);
  canvas->draw(draw, threads_);
  return {canvas->finish(words_), warnings(),         canvas->texts(),
          canvas->frames(),       words_.description, words_.caption};
}

std::optional<std::string> limited_letters(const std::optional<double>& points, double scale) {
  constexpr double nearly = 0.99;
  if (!points || usual_letters * scale >= nearly * *points) return std::nullopt;
  return translated("FigureOptions::font_size {1} is limited to {2}: larger letters do not fit",
                    with_digits(*points, 3), with_digits(usual_letters * scale, 2));
}

bool leaves_room(const Figure& figure, const Box& place, const Box& map, const Box& all) {
  // Shares of the figure's sides. A panel's legend is beside a map that keeps its names.
  const double least_share = figure.in_panel() ? 0.3 : 0.4;
  constexpr double least_map = 0.12;
  constexpr double beyond = 1.005;
  return all.width() <= beyond * figure.width() && all.height() <= beyond * figure.height() &&
         place.width() >= least_share * figure.width() &&
         place.height() >= least_share * figure.height() &&
         map.width() >= least_map * figure.width() && map.height() >= least_map * figure.height();
}

Box default_subplot_area(double width, double height) {
  return {default_left * width, (1 - default_top) * height, default_right * width,
          (1 - default_bottom) * height};
}

Box tight_subplot_area(const Box& area, const Box& decorated, double width, double height,
                       double pad) {
  const auto margin = [pad](double taken) { return std::max(taken, 0.0) + pad; };
  const Box tight = {margin(area.left - decorated.left), margin(area.top - decorated.top),
                     width - margin(decorated.right - area.right),
                     height - margin(decorated.bottom - area.bottom)};
  return tight.empty() ? area : tight;
}

std::vector<Box> subplot_places(const Box& area, std::size_t rows, std::size_t columns,
                                const Gaps& least) {
  const Spacing across = spacing(area.width(), columns, least.across);
  const Spacing down = spacing(area.height(), rows, least.down);
  std::vector<Box> places;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const double left = area.left + static_cast<double>(j) * (across.size + across.gap);
      const double top = area.top + static_cast<double>(i) * (down.size + down.gap);
      places.push_back({left, top, left + across.size, top + down.size});
    }
  }
  return places;
}

ColourBarSplit split_for_colour_bar(const Box& area) {
  Box axes = area, colour_bar = area;
  axes.right = area.left + (1 - colour_bar_width - colour_bar_gap) * area.width();
  colour_bar.left = area.left + (1 - colour_bar_width) * area.width();
  return {axes, colour_bar};
}

double aspect_of(std::size_t rows, std::size_t columns) {
  constexpr double flattest = 0.25, highest = 2;
  return std::clamp(static_cast<double>(rows) / static_cast<double>(columns), flattest, highest);
}

Box with_square_cells(const Box& place, std::size_t rows, std::size_t columns) {
  return with_aspect(place, aspect_of(rows, columns), 1);
}

Box with_aspect(const Box& place, double height_to_width, double anchor) {
  double width = place.width(), height = width * height_to_width;
  if (height > place.height()) {
    height = place.height();
    width = height / height_to_width;
  }
  const double left = place.left + anchor * (place.width() - width);
  const double top = place.centre() - height / 2;
  return {left, top, left + width, top + height};
}

}  // namespace attn::plot
