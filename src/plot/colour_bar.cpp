#include "plot/colour_bar.hpp"

#include "plot/subplots.hpp"

namespace attn::plot {
namespace {

constexpr double kHeightToWidth = 20;

Axes bar_within(const Box& place) {
  Axes axes;
  axes.box = with_aspect(place, kHeightToWidth, 0);
  axes.x.drawn = false;
  axes.y_on_right = true;
  return axes;
}

}  // namespace

void set_value_ticks(Axis& axis, Interval view, double length, bool horizontal,
                     const Figure& figure) {
  const auto values =
      tick_values(view, tick_intervals(figure.points(length), axis.tick_label_size, horizontal));
  const TickTexts texts = tick_texts(values, view);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!in_view(view, values[i])) continue;
    axis.ticks.push_back({(values[i] - view.low) / (view.high - view.low), texts.labels[i]});
  }
  axis.offset = texts.offset;
}

Axes colour_bar_axes(const Box& place, Interval range, const std::string& label,
                     const Figure& figure) {
  Axes axes = bar_within(place);
  axes.y.label = label;
  set_value_ticks(axes.y, range, axes.box.height(), false, figure);
  return axes;
}

void draw_colour_ramp(Canvas& canvas, const Box& box, const ColourMap& map) {
  const double step = box.height() / static_cast<double>(ColourMap::size());
  // Each colour is drawn from its lower edge to the top, under the next ones, so that no seams
  // show.
  for (std::size_t i = 0; i < ColourMap::size(); ++i) {
    const double bottom = box.bottom - static_cast<double>(i) * step;
    canvas.fill({box.left, box.top, box.right, bottom}, map[i]);
  }
}

}  // namespace attn::plot
