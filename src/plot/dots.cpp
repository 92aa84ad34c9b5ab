#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "plot/axes/arrangement.hpp"
#include "plot/colour/colour.hpp"
#include "plot/parts.hpp"
#include "support/translated.hpp"

namespace attn::plot {
namespace {

constexpr const char* dots_title = to_translate("Heads");
constexpr double dots_width = 8, row_of_dots = 0.3, around_dots = 1.2;  // inches
constexpr double least_radius = 0.07, most_radius = 0.42;               // of a cell
constexpr double dot_name_size = 8, dot_name_gap = 2;                   // points
constexpr double largest_dot = 9;                                       // points
constexpr Colour other_dots = {190, 190, 190};

}  // namespace

Picture draw_dots(const DotMap& map, const FigureOptions& options, PictureFormat format) {
  const auto rows = static_cast<double>(map.rows.size());
  const auto columns = static_cast<double>(map.columns.size());
  Figure figure(options, format, {dots_width, around_dots + row_of_dots * rows});
  const std::string title = title_of(options, map.title, dots_title);
  std::string named;
  for (const DotMap::Dot& dot : map.dots) {
    if (!dot.name.empty()) named += (named.empty() ? "" : ", ") + dot.name;
  }
  figure.describe(title,
                  translated("{1}, of which {2} stand out.",
                             translated_count(map.dots.size(), "{1} dot", "{1} dots"), named));
  const ChartTexts texts{title, options.xlabel.value_or(""), options.ylabel.value_or("")};
  const CellTicks across{map.columns, options.ticks, 0};
  const CellTicks down{map.rows, options.ticks, 0};
  const Arrangement all =
      arranged_beside_legend(figure, texts, {}, 0.3, [&](Axes& axes, Figure& on) {
        set_cell_ticks(axes.x, across, axes.box.width(), true, on);
        set_cell_ticks(axes.y, down, axes.box.height(), false, on);
      });
  const Box& box = all.axes.box;
  const double cell = std::min(
      {box.width() / columns, box.height() / rows, figure.pixels(largest_dot) / most_radius});
  return figure.picture(all.bounds(), [&](Canvas& canvas) {
    all.draw(canvas, figure, [&] {
      for (const DotMap::Dot& dot : map.dots) {
        const Point middle = {
            box.left + (static_cast<double>(dot.column) + 0.5) / columns * box.width(),
            box.top + (static_cast<double>(dot.row) + 0.5) / rows * box.height()};
        const double share = std::sqrt(std::clamp(dot.share, 0.0, 1.0));
        const double radius = cell * (least_radius + share * (most_radius - least_radius));
        canvas.dot(middle, radius, dot.name.empty() ? other_dots : head_colour(0));
        if (dot.name.empty()) continue;
        canvas.text(place(figure.typesetter().text(dot.name, dot_name_size),
                          {middle.x + radius + figure.pixels(dot_name_gap), middle.y},
                          {Horizontal::left, Vertical::centre_of_capitals}),
                    figure.paper().ink);
      }
    });
  });
}

}  // namespace attn::plot
