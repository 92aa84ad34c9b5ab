#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "plot/axes/arrangement.hpp"
#include "plot/colour/colour.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot::points {
namespace {

constexpr std::pair<double, double> default_size = {8, 6.4};  // inches
constexpr const char* default_title = to_translate("Map of Heads");
constexpr double side = 7, name_size = 7.5;  // points
constexpr double name_gap = 2;               // points between a point and its name
constexpr double margin = 0.08;              // of the longer side, all around
constexpr double least_width = 0.3;          // of the figure, beside the legend
constexpr std::size_t most_names = 200, most_entries = 12, few_entries = 7;
constexpr std::size_t most_outliers = 12;  // of more points the farthest have names
constexpr const char* group_map = "viridis";
constexpr double first_colour = 0.02, last_colour = 0.88;  // what white paper lets be seen of it

std::vector<Point> places_of(const PointMap& map) {
  const Shape& shape = map.points.shape();
  if (shape.size() != 2 || shape[1] != 2 || shape[0] == 0) {
    throw input_error(translated("points of the shape {1}", text(shape)), "",
                      translated("give {1}", "[N,2]"));
  }
  const Tensor converted = map.points.converted(DType::float64);
  const auto numbers = converted.values<double>();
  std::vector<Point> places;
  for (std::size_t i = 0; i < shape[0]; ++i) {
    places.push_back({numbers[2 * i], numbers[2 * i + 1]});
    if (std::isfinite(places[i].x) && std::isfinite(places[i].y)) continue;
    throw input_error(translated("a point has a position that is not finite"), "",
                      translated("leave it out"));
  }
  return places;
}

// All points with a margin, on one scale in both directions.
View view_in(const Box& box, const std::vector<Point>& places) {
  Interval x{places[0].x, places[0].x}, y{places[0].y, places[0].y};
  for (const Point& point : places) {
    x = {std::min(x.low, point.x), std::max(x.high, point.x)};
    y = {std::min(y.low, point.y), std::max(y.high, point.y)};
  }
  const double width = std::max(box.width(), 1.0), height = std::max(box.height(), 1.0);
  const double more = margin * std::max({x.high - x.low, y.high - y.low, 1e-12});
  const double unit =
      std::max((x.high - x.low + 2 * more) / width, (y.high - y.low + 2 * more) / height);
  const auto around = [&](const Interval& of, double pixels) {
    const double middle = (of.low + of.high) / 2, half = unit * pixels / 2;
    return Interval{middle - half, middle + half};
  };
  return {around(x, width), around(y, height)};
}

// Writes names right of their squares, or left, above or below. One that would lie on a point or on
// another name everywhere is left out.
void draw_names(Canvas& canvas, const std::vector<std::string>& names, std::vector<Box> taken,
                const Box& frame, Figure& figure) {
  const std::vector<Box> squares = taken;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    const Text& text = figure.typesetter().text(names[i], name_size);
    const Box& square = squares[i];
    const double gap = figure.pixels(name_gap);
    const std::array<std::pair<Point, Alignment>, 4> sides = {
        {{{square.right + gap, square.centre()}, {Horizontal::left, Vertical::centre}},
         {{square.left - gap, square.centre()}, {Horizontal::right, Vertical::centre}},
         {{square.middle(), square.top - gap}, {Horizontal::centre, Vertical::bottom}},
         {{square.middle(), square.bottom + gap}, {Horizontal::centre, Vertical::top}}}};
    for (const auto& [anchor, alignment] : sides) {
      const PlacedText name = place(text, anchor, alignment);
      const Box& room = name.bounds;
      const bool inside = room.left >= frame.left && room.right <= frame.right &&
                          room.top >= frame.top && room.bottom <= frame.bottom;
      if (!inside || std::any_of(taken.begin(), taken.end(),
                                 [&](const Box& other) { return overlap(room, other); })) {
        continue;
      }
      taken.push_back(room);
      canvas.text(name, figure.paper().ink);
      break;
    }
  }
}

// The names of the points farthest from their next neighbour; the others are empty.
std::vector<std::string> names_of_outliers(const PointMap& map, const std::vector<Point>& places) {
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Neighbours are looked for among those next to a point across: enough of them, and no more.
  std::ranges::sort(order, {}, [&](std::size_t i) { return places[i].x; });
  constexpr std::size_t reach = 64;
  std::vector<std::pair<double, std::size_t>> apart;
  for (std::size_t n = 0; n < order.size(); ++n) {
    const Point& own = places[order[n]];
    double nearest = std::numeric_limits<double>::infinity();
    const std::size_t end = std::min(order.size(), n + reach);
    for (std::size_t m = n > reach ? n - reach : 0; m < end; ++m) {
      const Point& other = places[order[m]];
      if (m != n) nearest = std::min(nearest, std::hypot(own.x - other.x, own.y - other.y));
    }
    apart.emplace_back(nearest, order[n]);
  }
  const std::size_t count = std::min(most_outliers, apart.size());
  std::partial_sort(apart.begin(), apart.begin() + static_cast<std::ptrdiff_t>(count), apart.end(),
                    [](const auto& a, const auto& b) { return a > b; });
  std::vector<std::string> names(places.size());
  for (std::size_t n = 0; n < count; ++n) names[apart[n].second] = map.names[apart[n].second];
  return names;
}

}  // namespace
}  // namespace plot::points

Picture draw_points(const PointMap& map, const FigureOptions& options, PictureFormat format) {
  using namespace plot;
  using namespace plot::points;
  const std::vector<Point> places = places_of(map);
  Figure figure(options, format, default_size);
  const std::string title = title_of(options, map.title, default_title);
  const std::size_t groups = map.group_names.size();
  const ColourMap colours(group_map);
  const auto colour_of = [&](std::size_t group) {
    const double share =
        groups < 2 ? 0 : static_cast<double>(group) / static_cast<double>(groups - 1);
    return colours.at(first_colour + share * (last_colour - first_colour));
  };
  // Of many groups every few have an entry, the first and the last among them.
  std::vector<LegendEntry> entries;
  const std::size_t wanted = groups > most_entries ? few_entries : groups;
  for (std::size_t n = 0; n < wanted; ++n) {
    const std::size_t g = wanted < 2 ? 0 : n * (groups - 1) / (wanted - 1);
    entries.push_back({map.group_names[g], colour_of(g)});
  }
  figure.describe(title, translated("{1} of {2}; those near each other are alike.",
                                    translated_count(places.size(), "{1} point", "{1} points"),
                                    translated_count(std::max<std::size_t>(groups, 1), "{1} group",
                                                     "{1} groups")));

  const ChartTexts texts{title, options.xlabel.value_or(""), options.ylabel.value_or("")};
  const Arrangement all = arranged_beside_legend(figure, texts, entries, least_width, {});
  const Box& frame = all.axes.box;
  return figure.picture(all.bounds(), [&](Canvas& canvas) {
    all.draw(canvas, figure, [&] {
      const View view = view_in(frame, places);
      const double half = figure.pixels(side) / 2;
      std::vector<Box> squares;
      for (std::size_t i = 0; i < places.size(); ++i) {
        const double x = view.across(frame, places[i].x), y = view.down(frame, places[i].y);
        squares.push_back({x - half, y - half, x + half, y + half});
        canvas.fill(squares[i], colour_of(i < map.groups.size() ? map.groups[i] : 0));
      }
      if (map.names.size() != places.size()) return;
      draw_names(canvas, places.size() <= most_names ? map.names : names_of_outliers(map, places),
                 squares, frame, figure);
    });
  });
}

}  // namespace attn
