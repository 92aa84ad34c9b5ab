#include <algorithm>
#include <cmath>

#include "plot/canvas/canvas.hpp"

// Strokes of all kinds. Slanted lines are the only things that are drawn with soft edges.

namespace attn::plot {

double Canvas::line_middle(double place, double line_width) {
  const bool odd = static_cast<long>(edge(line_width)) % 2 != 0;
  return edge(place) + (odd ? 0.5 : 0.0);
}

void Canvas::stroke(const Box& box, Colour colour, double line_width) {
  Box line = box.moved(dx_, dy_);
  if (is_raster()) {
    line = {line_middle(line.left, line_width), line_middle(line.top, line_width),
            line_middle(line.right, line_width), line_middle(line.bottom, line_width)};
  }
  set_colour(colour);
  cairo_set_line_width(cairo_, line_width);
  cairo_rectangle(cairo_, line.left, line.top, line.width(), line.height());
  cairo_stroke(cairo_);
}

void Canvas::ticks(const std::vector<Tick>& ticks, Colour colour, double line_width) {
  if (ticks.empty()) return;
  set_colour(colour);
  cairo_set_line_width(cairo_, line_width);
  for (const Tick& tick : ticks) {
    Point start = moved(tick.from);
    Point end = {start.x + tick.dx, start.y + tick.dy};
    if (is_raster()) {
      // The length is rounded apart from the place, so that all ticks of an axis are equally long.
      start = {line_middle(start.x, line_width), line_middle(start.y, line_width)};
      end = {start.x + edge(tick.dx), start.y + edge(tick.dy)};
    }
    if (!on_band(std::min(start.y, end.y) - line_width, std::max(start.y, end.y) + line_width)) {
      continue;
    }
    cairo_move_to(cairo_, start.x, start.y);
    cairo_line_to(cairo_, end.x, end.y);
  }
  cairo_stroke(cairo_);
}

void Canvas::hatch(const std::vector<Box>& boxes, Colour colour, double line_width, double distance,
                   Hatch hatch) {
  if (boxes.empty()) return;
  cairo_save(cairo_);
  Box around = snapped(boxes.front());
  for (const Box& box : boxes) {
    const Box area = snapped(box);
    around = united(around, area);
    if (!on_band(area.top, area.bottom)) continue;
    cairo_rectangle(cairo_, area.left, area.top, area.width(), area.height());
  }
  cairo_clip(cairo_);
  set_colour(colour);
  cairo_set_line_width(cairo_, line_width);
  const double height = around.height();
  // Slanted strokes as far apart as measured across, in a square that is as wide as they rise.
  const auto slanted = [&](bool rising) {
    const int strokes = static_cast<int>((around.width() + height) / distance) + 1;
    for (int i = 0; i < strokes; ++i) {
      const double x = around.left - height + i * distance;
      cairo_move_to(cairo_, x, rising ? around.bottom : around.top);
      cairo_line_to(cairo_, x + height, rising ? around.top : around.bottom);
    }
  };
  const auto upright = [&] {
    for (double x = around.left + distance / 2; x < around.right; x += distance) {  // NOLINT
      cairo_move_to(cairo_, x, around.top);
      cairo_line_to(cairo_, x, around.bottom);
    }
  };
  const auto level = [&] {
    for (double y = around.top + distance / 2; y < around.bottom; y += distance) {  // NOLINT
      cairo_move_to(cairo_, around.left, y);
      cairo_line_to(cairo_, around.right, y);
    }
  };
  switch (hatch) {
    case Hatch::rising:
      slanted(true);
      break;
    case Hatch::falling:
      slanted(false);
      break;
    case Hatch::upright:
      upright();
      break;
    case Hatch::level:
      level();
      break;
    case Hatch::crossed:
      slanted(true);
      slanted(false);
      break;
    case Hatch::squared:
      upright();
      level();
      break;
    case Hatch::dotted: {
      const double dash = 1.4 * line_width;
      const std::array<double, 2> dashes{dash, distance - dash};
      cairo_set_dash(cairo_, dashes.data(), 2, 0);
      cairo_set_line_width(cairo_, dash);
      level();
      break;
    }
  }
  cairo_stroke(cairo_);
  cairo_restore(cairo_);
}

void Canvas::line(Point from, Point to, const Stroke& stroke) {
  const Point start = moved(from), end = moved(to);
  if (is_raster() && !clear_) {
    const double length = std::hypot(end.x - start.x, end.y - start.y);
    if (stroke.dashes.empty() || !(length > 0)) {
      blend_line(start, end, stroke);
      return;
    }
    const auto at = [&](double way) {
      const double share = std::min(way, length) / length;
      return Point{start.x + share * (end.x - start.x), start.y + share * (end.y - start.y)};
    };
    double way = 0;
    for (std::size_t i = 0; way < length; i = (i + 1) % stroke.dashes.size()) {
      const double next = way + stroke.dashes[i];
      if (i % 2 == 0) blend_line(at(way), at(next), stroke);
      way = next;
    }
    return;
  }
  const Colour colour = stroke.colour;
  cairo_set_source_rgba(cairo_, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0,
                        stroke.opacity);
  cairo_set_line_width(cairo_, stroke.width);
  cairo_set_dash(cairo_, stroke.dashes.data(), static_cast<int>(stroke.dashes.size()), 0);
  cairo_move_to(cairo_, start.x, start.y);
  cairo_line_to(cairo_, end.x, end.y);
  cairo_stroke(cairo_);
  cairo_set_dash(cairo_, nullptr, 0, 0);
}

// Cairo takes half a millisecond for a long slanted line; figures may have thousands. For each
// pixel along the longer direction, the line covers an interval of pixels across it.
void Canvas::blend_line(Point from, Point to, const Stroke& stroke) {
  const bool steep = std::abs(to.y - from.y) > std::abs(to.x - from.x);
  const double longer = steep ? to.y - from.y : to.x - from.x;
  if (longer == 0) return;
  const double slope = (steep ? to.x - from.x : to.y - from.y) / longer;
  const double half = stroke.width / 2 * std::sqrt(1 + slope * slope);
  if (!on_band(std::min(from.y, to.y) - half, std::max(from.y, to.y) + half)) return;
  const Colour colour = stroke.colour;
  cairo_surface_flush(surface_);
  std::ptrdiff_t along = 1, across = width_;
  // The pixels of the canvas that the band has, along the longer direction and across it; the first
  // in memory is at the corner of both.
  struct Span {
    double begin, end;
  };
  Span length{0, static_cast<double>(width_)};
  Span breadth{static_cast<double>(band_top_),
               static_cast<double>(std::min(band_top_ + band_rows_, height_))};
  if (steep) {
    std::swap(from.x, from.y);
    std::swap(to.x, to.y);
    std::swap(along, across);
    std::swap(length, breadth);
  }
  if (from.x > to.x) std::swap(from, to);
  double begin = std::max(length.begin, std::floor(from.x));
  double end = std::min(std::ceil(to.x), length.end);
  if (!steep && slope != 0) {
    // Where the line is on the band at all, and a little more.
    constexpr double more = 2;
    const auto place_of = [&](double height) { return from.x + (height - from.y) / slope; };
    const Span crossed = slope > 0
                             ? Span{place_of(breadth.begin - half), place_of(breadth.end + half)}
                             : Span{place_of(breadth.end + half), place_of(breadth.begin - half)};
    begin = std::max(begin, std::floor(crossed.begin) - more);
    end = std::min(end, std::ceil(crossed.end) + more);
  }
  const auto mix = [&](std::uint32_t& pixel, double share) {
    constexpr int one = 1 << 16;
    const int weight = static_cast<int>(share * one + 0.5);  // NOLINT(bugprone-*): not negative
    const auto mixed = [&](int shift, int channel) {
      const int below = static_cast<int>(pixel >> shift & 255);
      return static_cast<std::uint32_t>(below + ((channel - below) * weight + one / 2) / one)
             << shift;
    };
    pixel = mixed(16, colour.red) | mixed(8, colour.green) | mixed(0, colour.blue);
  };
  for (double u = begin; u < end; ++u) {  // NOLINT: whole numbers
    const double middle = from.y + slope * (u + 0.5 - from.x);
    const double low = std::clamp(middle - half, breadth.begin, breadth.end);
    const double high = std::clamp(middle + half, breadth.begin, breadth.end);
    if (low >= high) continue;
    const double covered = stroke.opacity * (std::min(u + 1, to.x) - std::max(u, from.x));
    const auto first = static_cast<std::ptrdiff_t>(low);
    const auto last = static_cast<std::ptrdiff_t>(std::ceil(high)) - 1;
    std::uint32_t* pixel = pixels_ + static_cast<std::ptrdiff_t>(u - length.begin) * along +
                           (first - static_cast<std::ptrdiff_t>(breadth.begin)) * across;
    if (first == last) {
      mix(*pixel, covered * (high - low));
      continue;
    }
    mix(*pixel, covered * (static_cast<double>(first + 1) - low));
    for (std::ptrdiff_t v = first + 1; v < last; ++v) mix(*(pixel += across), covered);
    mix(*(pixel + across), covered * (high - static_cast<double>(last)));
  }
  cairo_surface_mark_dirty(surface_);
}

void Canvas::curve(std::span<const Point> points, const Stroke& stroke) {
  if (points.size() < 2) return;
  const auto [highest, lowest] = std::minmax_element(
      points.begin(), points.end(), [](const Point& a, const Point& b) { return a.y < b.y; });
  if (!on_band(highest->y + dy_ - stroke.width, lowest->y + dy_ + stroke.width)) return;
  cairo_save(cairo_);
  const Colour colour = stroke.colour;
  cairo_set_source_rgba(cairo_, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0,
                        stroke.opacity);
  cairo_set_line_width(cairo_, stroke.width);
  cairo_set_line_join(cairo_, CAIRO_LINE_JOIN_ROUND);
  cairo_set_dash(cairo_, stroke.dashes.data(), static_cast<int>(stroke.dashes.size()), 0);
  for (const Point& point : points) {
    const Point place = moved(point);
    cairo_line_to(cairo_, place.x, place.y);
  }
  cairo_stroke(cairo_);
  cairo_restore(cairo_);
}

void Canvas::area(std::span<const Point> points, Colour colour, double opacity) {
  cairo_set_source_rgba(cairo_, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0,
                        opacity);
  for (const Point& point : points) {
    const Point place = moved(point);
    cairo_line_to(cairo_, place.x, place.y);
  }
  cairo_close_path(cairo_);
  cairo_fill(cairo_);
}

}  // namespace attn::plot
