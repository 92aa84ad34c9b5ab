#include <algorithm>
#include <cmath>
#include <numbers>

#include "plot/text/text.hpp"

namespace attn::plot {
namespace {

constexpr double line_spacing = 1.2;  // of a letter's height

// What a turned text covers, and the turn.
struct Turn {
  double cosine, sine;

  explicit Turn(double degrees) {
    // Right angles are exact, so that level and upright texts get no stray fractions.
    const double quarter = degrees / 90;
    if (quarter == std::floor(quarter)) {
      const int quarters = static_cast<int>(std::fmod(std::fmod(quarter, 4) + 4, 4));
      cosine = quarters == 0 ? 1 : quarters == 2 ? -1 : 0;
      sine = quarters == 1 ? 1 : quarters == 3 ? -1 : 0;
    } else {
      cosine = std::cos(degrees * std::numbers::pi / 180);
      sine = std::sin(degrees * std::numbers::pi / 180);
    }
  }

  Point operator()(Point p) const { return {p.x * cosine + p.y * sine, p.y * cosine - p.x * sine}; }

  Box around(const Box& box) const {
    const Point a = (*this)({box.left, box.top}), b = (*this)({box.right, box.top}),
                c = (*this)({box.left, box.bottom}), d = (*this)({box.right, box.bottom});
    return {std::min({a.x, b.x, c.x, d.x}), std::min({a.y, b.y, c.y, d.y}),
            std::max({a.x, b.x, c.x, d.x}), std::max({a.y, b.y, c.y, d.y})};
  }
};

// The point of `box` that alignment puts on the anchor. `ascent` and `descent` are the level
// text's.
Point aligned_point(const Box& box, const Alignment& alignment, double ascent, double descent) {
  Point point;
  switch (alignment.horizontal) {
    case Horizontal::left:
      point.x = box.left;
      break;
    case Horizontal::centre:
      point.x = box.middle();
      break;
    case Horizontal::right:
      point.x = box.right;
      break;
  }
  switch (alignment.vertical) {
    case Vertical::top:
      point.y = box.top;
      break;
    case Vertical::centre:
      point.y = box.centre();
      break;
    case Vertical::centre_of_capitals:
      point.y = box.top + ascent / 2;
      break;
    case Vertical::baseline:
      point.y = box.bottom - descent;
      break;
    case Vertical::bottom:
      point.y = box.bottom;
      break;
  }
  return point;
}

}  // namespace

PlacedText place(const Text& text, Point anchor, const Alignment& alignment) {
  return place_lines({&text}, text, anchor, alignment).front();
}

// The rules are those of matplotlib 3.6 (Text._get_layout).
std::vector<PlacedText> place_lines(const std::vector<const Text*>& lines, const Text& lp,
                                    Point anchor, const Alignment& alignment) {
  const auto ascent_of = [](const Text& line) { return line.height - line.descent; };
  // Baselines relative to the last one, and the level block around them.
  std::vector<double> baselines(lines.size());
  double width = lines.back()->width;
  for (std::size_t i = lines.size() - 1; i > 0; --i) {
    const double rise = line_spacing * std::max(ascent_of(lp), ascent_of(*lines[i]));
    baselines[i - 1] = baselines[i] - rise - lines[i - 1]->descent;
    width = std::max(width, lines[i - 1]->width);
  }
  const double descent = lines.back()->descent;
  const double ascent = ascent_of(*lines.front());
  const Box level = {0, baselines.front() - ascent, width, descent};

  const Turn turn(alignment.degrees);
  const Point from = alignment.turned_about_anchor
                         ? turn(aligned_point(level, alignment, ascent, descent))
                         : aligned_point(turn.around(level), alignment, ascent, descent);
  std::vector<PlacedText> placed;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Text& line = *lines[i];
    const Point start = turn({(width - line.width) / 2, baselines[i]});
    const Point origin = {anchor.x - from.x + start.x, anchor.y - from.y + start.y};
    const Box around = turn.around({0, -ascent_of(line), line.width, line.descent});
    placed.push_back({&line, origin, alignment.degrees, around.moved(origin.x, origin.y)});
  }
  return placed;
}

std::vector<std::string> lines_of(const std::string& string) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  for (std::size_t end; (end = string.find('\n', start)) != std::string::npos; start = end + 1) {
    lines.push_back(string.substr(start, end - start));
  }
  lines.push_back(string.substr(start));
  return lines;
}

std::string wrapped(const std::string& string, double points, double width,
                    Typesetter& typesetter) {
  std::string result;
  const auto lines = lines_of(string);
  for (const std::string& line : lines) {
    if (&line != &lines.front()) result += '\n';
    std::string shown;
    std::size_t start = 0;
    while (start <= line.size()) {
      const std::size_t end = std::min(line.find(' ', start), line.size());
      const std::string word = line.substr(start, end - start);
      std::string longer = shown;
      if (start > 0) longer += ' ';
      longer += word;
      if (start > 0 && typesetter.text(longer, points).width > width) {
        result += shown + '\n';
        shown = word;
      } else {
        shown = longer;
      }
      start = end + 1;
    }
    result += shown;
  }
  return result;
}

}  // namespace attn::plot
