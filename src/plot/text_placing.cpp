#include <cmath>
#include <numbers>

#include "plot/text.hpp"

namespace attn::plot {
namespace {

/// What a turned text covers, and the turn.
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

/// The point of `box` that alignment puts on the anchor. `ascent` and `descent` are the level
/// text's.
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
  const double ascent = text.height - text.descent;
  const Box level = {0, -ascent, text.width, text.descent};
  const Turn turn(alignment.degrees);
  const Box turned = turn.around(level);
  const Point from = alignment.turned_about_anchor
                         ? turn(aligned_point(level, alignment, ascent, text.descent))
                         : aligned_point(turned, alignment, ascent, text.descent);
  const Point origin = {anchor.x - from.x, anchor.y - from.y};
  return {&text, origin, alignment.degrees, turned.moved(origin.x, origin.y)};
}

}  // namespace attn::plot
