#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "attn/error.hpp"

#include "plot/axes/axes.hpp"
#include "plot/axes/colour_bar.hpp"
#include "plot/axes/legend.hpp"
#include "plot/colour/colour_map.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot {
namespace {

// Names of this file alone, so that it may be compiled together with other figures.
namespace of_points {
constexpr std::pair<double, double> usual_size = {8, 6.4};
constexpr const char* title = to_translate("Map of Heads");
constexpr double side = 7, name_size = 7.5;        // points
constexpr double title_pad = 15, legend_gap = 14;  // points
constexpr double margin = 0.08;                    // of the longer side, all around
constexpr double least_width = 0.3;                // of the figure; beside the legend
constexpr double name_gap = 2;                     // points between a point and its name
constexpr std::size_t most_names = 200, most_entries = 24;
// The part of the map that is told apart from white paper.
constexpr const char* map = "viridis";
constexpr double first_colour = 0.02, last_colour = 0.88;
}  // namespace of_points

class PointsFigure {
 public:
  PointsFigure(const PointMap& map, const FigureOptions& options, PictureFormat format)
      : options_(options),
        map_(map),
        count_(map.points.shape()[0]),
        figure_(options, format, of_points::usual_size),
        title_(
            options.title.value_or(map.title.empty() ? translated(of_points::title) : map.title)) {
    const Tensor numbers = map.points.converted(DType::float64);
    for (std::size_t i = 0; i < count_; ++i) {
      places_.push_back({numbers.values<double>()[2 * i], numbers.values<double>()[2 * i + 1]});
    }
    const std::size_t groups = map.group_names.size();
    const std::size_t step =
        (groups + of_points::most_entries - 1) / std::max<std::size_t>(of_points::most_entries, 1);
    for (std::size_t g = 0; g < groups; g += std::max<std::size_t>(step, 1)) {
      entries_.push_back({map.group_names[g], colour_of(g)});
    }
    figure_.describe(title_, translated("{1} of {2}; those near each other are alike.",
                                        translated_count(count_, "{1} point", "{1} points"),
                                        translated_count(std::max<std::size_t>(groups, 1),
                                                         "{1} group", "{1} groups")));
  }

  Picture draw() {
    std::optional<Layout> set;
    figure_.fit(tick_labels_give_way + 1, [&](int given_way) {
      given_way_ = given_way;
      const Box area = figure_.tight_area([this](Figure& figure, const Box& box) {
        return Layout(*this, figure, box).bounds(&Decorations::layout_bounds);
      });
      set.emplace(*this, figure_, area);
      return leaves_room(figure_, set->axes.box, set->axes.box, set->bounds(&Decorations::bounds));
    });
    const Layout& layout = *set;
    return figure_.picture(layout.bounds(&Decorations::bounds), [&](Canvas& canvas) {
      draw_axes(canvas, layout.axes, layout.decorations, figure_);
      draw_points(canvas, layout.axes.box);
      layout.legend.draw(canvas, figure_);
    });
  }

 private:
  struct Layout {
    Layout(const PointsFigure& points, Figure& figure, const Box& area)
        : axes(points.axes_in(beside_legend(points, figure, area), figure)),
          decorations(decorate(axes, figure.typesetter())),
          legend(points.entries_, {axes.box.right + gap(figure), axes.box.top}, figure) {}

    static double gap(const Figure& figure) {
      return figure.pixels(of_points::legend_gap) * std::min(1.0, figure.font_scale());
    }
    static Box beside_legend(const PointsFigure& points, Figure& figure, Box area) {
      if (points.entries_.empty()) return area;
      const double right = area.right - Legend::width(points.entries_, figure) - gap(figure);
      area.right = std::max(right, area.left + of_points::least_width * figure.width());
      return area;
    }
    Box bounds(Box Decorations::*of) const {
      const Box all = united(decorations.*of, axes.box);
      return legend.bounds().width() > 0 ? united(all, legend.bounds()) : all;
    }

    Axes axes;
    Decorations decorations;
    Legend legend;
  };

  Colour colour_of(std::size_t group) const {
    const std::size_t groups = map_.group_names.size();
    const double share =
        groups < 2 ? 0 : static_cast<double>(group) / static_cast<double>(groups - 1);
    return colours_.at(of_points::first_colour +
                       share * (of_points::last_colour - of_points::first_colour));
  }

  // What the axes show in a box, x and y: all points with a margin, on one scale.
  std::pair<Interval, Interval> views(const Box& box) const {
    Interval x{places_[0].x, places_[0].x}, y{places_[0].y, places_[0].y};
    for (const Point& point : places_) {
      x = {std::min(x.low, point.x), std::max(x.high, point.x)};
      y = {std::min(y.low, point.y), std::max(y.high, point.y)};
    }
    const double more = of_points::margin * std::max({x.high - x.low, y.high - y.low, 1e-12});
    const double unit = std::max((x.high - x.low + 2 * more) / std::max(box.width(), 1.0),
                                 (y.high - y.low + 2 * more) / std::max(box.height(), 1.0));
    const auto around = [&](const Interval& of, double pixels) {
      const double middle = (of.low + of.high) / 2, half = unit * pixels / 2;
      return Interval{middle - half, middle + half};
    };
    return {around(x, std::max(box.width(), 1.0)), around(y, std::max(box.height(), 1.0))};
  }

  Axes axes_in(const Box& box, Figure& figure) const {
    Axes axes;
    axes.box = box;
    axes.style = options_.style;
    if (given_way_ <= title_gives_way) {
      axes.title = figure.title(title_, title_size, figure.width());
    }
    axes.title_size = title_size;
    axes.title_pad = of_points::title_pad;
    if (options_.style == PlotStyle::standard) axes.title_within = {{0, figure.width()}};
    if (given_way_ <= axis_labels_give_way) {
      axes.x.label = figure.label(options_.xlabel.value_or(""), label_size, box.width());
      axes.y.label = figure.label(options_.ylabel.value_or(""), label_size, box.height());
    }
    axes.x.label_size = axes.y.label_size = label_size;
    const auto [x, y] = views(box);
    set_value_ticks(axes.x, x, box.width(), true, figure);
    set_value_ticks(axes.y, y, box.height(), false, figure);
    axes.x.labelled = axes.y.labelled = given_way_ <= tick_labels_give_way;
    return axes;
  }

  void draw_points(Canvas& canvas, const Box& box) {
    const auto [x, y] = views(box);
    const double half = figure_.pixels(of_points::side) / 2;
    std::vector<Point> at;
    for (const Point& place : places_) {
      at.push_back({box.left + (place.x - x.low) / (x.high - x.low) * box.width(),
                    box.bottom - (place.y - y.low) / (y.high - y.low) * box.height()});
    }
    std::vector<Box> taken;
    for (std::size_t i = 0; i < count_; ++i) {
      const Box square{at[i].x - half, at[i].y - half, at[i].x + half, at[i].y + half};
      canvas.fill(square, colour_of(i < map_.groups.size() ? map_.groups[i] : 0));
      taken.push_back(square);
    }
    if (map_.names.size() != count_ || count_ > of_points::most_names) return;
    // A name that would lie on a point or on another name is left out.
    for (std::size_t i = 0; i < count_; ++i) {
      const Text& text = figure_.typesetter().text(map_.names[i], of_points::name_size);
      const double gap = figure_.pixels(of_points::name_gap);
      const PlacedText name =
          place(text, {at[i].x + half + gap, at[i].y}, {Horizontal::left, Vertical::centre});
      const Box room = name.bounds;
      const bool inside =
          room.right <= box.right && room.top >= box.top && room.bottom <= box.bottom;
      const bool free = std::none_of(taken.begin(), taken.end(), [&](const Box& other) {
        return room.left < other.right && other.left < room.right && room.top < other.bottom &&
               other.top < room.bottom;
      });
      if (!inside || !free) continue;
      taken.push_back(room);
      canvas.text(name, figure_.paper().ink);
    }
  }

  const FigureOptions& options_;
  const PointMap& map_;
  std::size_t count_;
  Figure figure_;
  std::string title_;
  ColourMap colours_{of_points::map};
  std::vector<Point> places_;
  std::vector<LegendEntry> entries_;
  // How many of these give way to the points.
  enum { axis_labels_give_way, title_gives_way, tick_labels_give_way };
  int given_way_ = 0;
};

}  // namespace
}  // namespace plot

Picture draw_points(const PointMap& map, const FigureOptions& options, PictureFormat format) {
  const Shape& shape = map.points.shape();
  if (shape.size() != 2 || shape[1] != 2 || shape[0] == 0) {
    throw input_error(translated("points of the shape {1}", text(shape)), "",
                      translated("give {1}", "[N,2]"));
  }
  for (const double number : map.points.converted(DType::float64).values<double>()) {
    if (!std::isfinite(number)) {
      throw input_error(translated("a point has no finite place"), "", translated("leave it out"));
    }
  }
  return plot::PointsFigure(map, options, format).draw();
}

}  // namespace attn
