#include "plot/axes/colour_bar.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plot/axes/subplots.hpp"
#include "plot/numbers/log_ticks.hpp"
#include "plot/numbers/value_format.hpp"

namespace attn::plot {
namespace {

constexpr double height_to_width = 20;

Axes bar_within(const Box& place) {
  Axes axes;
  axes.box = with_aspect(place, height_to_width, 0);
  axes.x.drawn = false;
  axes.y_on_right = true;
  return axes;
}

void set_log_ticks(Axis& axis, Interval range, double length, const Figure& figure) {
  constexpr ColorNorm log = {ColorNorm::Kind::log, 1};
  const LogTicks ticks = log_ticks(
      range,
      tick_intervals(figure.points(length), axis.tick_label_size * figure.font_scale(), false));
  for (std::size_t i = 0; i < ticks.values.size(); ++i) {
    axis.ticks.push_back({position_of(ticks.values[i], range, log), ticks.labels[i]});
  }
  for (const double value : ticks.minor_values) {
    axis.minor_ticks.push_back(position_of(value, range, log));
  }
}

// Leaves out ticks that are nearer than `least` to the one before.
void thin_out(Axis& axis, double least) {
  std::vector<Tick> kept;
  for (const Tick& tick : axis.ticks) {
    if (kept.empty() || tick.position - kept.back().position >= least) kept.push_back(tick);
  }
  axis.ticks = std::move(kept);
}

// A tick at either end, in the place of ticks too near to it.
void label_ends(Axis& axis, Interval range, double least) {
  if (!axis.offset.empty()) return;
  constexpr double same = 1e-6;
  for (const auto& [position, value] : {std::pair{0.0, range.low}, std::pair{1.0, range.high}}) {
    const auto near = [&, at = position](const Tick& tick) {
      return std::abs(tick.position - at) < least;
    };
    const auto there = [&, at = position](const Tick& tick) {
      return std::abs(tick.position - at) < same;
    };
    if (std::any_of(axis.ticks.begin(), axis.ticks.end(), there)) continue;
    std::erase_if(axis.ticks, near);
    axis.ticks.push_back({position, short_number(value)});
  }
  std::sort(axis.ticks.begin(), axis.ticks.end(),
            [](const Tick& a, const Tick& b) { return a.position < b.position; });
}

}  // namespace

void set_value_ticks(Axis& axis, Interval view, double length, bool horizontal,
                     const Figure& figure) {
  const auto values =
      tick_values(view, tick_intervals(figure.points(length),
                                       axis.tick_label_size * figure.font_scale(), horizontal));
  const TickTexts texts = tick_texts(values, view);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!in_view(view, values[i])) continue;
    axis.ticks.push_back({(values[i] - view.low) / (view.high - view.low), texts.labels[i]});
  }
  axis.offset = texts.offset;
}

void set_bar_ticks(Axes& bar, Interval range, const Figure& figure, const ColorNorm& norm) {
  const double line = figure.pixels(bar.y.tick_label_size * figure.font_scale()) / bar.box.height();
  if (norm.kind == ColorNorm::Kind::log) {
    set_log_ticks(bar.y, range, bar.box.height(), figure);
    return;
  }
  set_value_ticks(bar.y, range, bar.box.height(), false, figure);
  if (norm.kind == ColorNorm::Kind::power) {
    // Rounding may have put the first tick a little below the bar's end.
    for (Tick& tick : bar.y.ticks) {
      tick.position = std::pow(std::max(0.0, tick.position), norm.gamma);
    }
    thin_out(bar.y, line);
  }
  constexpr double apart = 1.3;  // lines
  if (figure.style() == PlotStyle::standard) label_ends(bar.y, range, apart * line);
}

Axes colour_bar_axes(const Box& place, Interval range, const std::string& label,
                     const Figure& figure, const ColorNorm& norm) {
  Axes axes = bar_within(place);
  axes.style = figure.style();
  axes.y.label = label;
  set_bar_ticks(axes, range, figure, norm);
  return axes;
}

double arrow_height(const Box& bar) {
  return 0.9 * bar.width();
}

void draw_colour_ramp(Canvas& canvas, const Box& box, const ColourScale& scale) {
  const ColourMap& map = scale.map;
  const double arrow = arrow_height(box);
  if (scale.beyond_low) {
    canvas.triangle({box.left, box.bottom}, {box.right, box.bottom},
                    {box.middle(), box.bottom + arrow}, map[0]);
  }
  if (scale.beyond_high) {
    canvas.triangle({box.left, box.top}, {box.right, box.top}, {box.middle(), box.top - arrow},
                    map[ColourMap::size() - 1]);
  }
  if (!canvas.is_raster()) {
    Pixels pixels;
    for (std::size_t i = ColourMap::size(); i-- > 0;) pixels.push_back(packed(map[i]));
    canvas.image(std::move(pixels), 1, ColourMap::size(), box);
    return;
  }
  const double step = box.height() / static_cast<double>(ColourMap::size());
  // Both edges of a colour are the same whole pixels as its neighbours', so that no seams show.
  const auto edge = [&](std::size_t i) { return box.bottom - static_cast<double>(i) * step; };
  for (std::size_t i = 0; i < ColourMap::size(); ++i) {
    const double top = i + 1 == ColourMap::size() ? box.top : edge(i + 1);
    canvas.fill({box.left, top, box.right, edge(i)}, map[i]);
  }
}

}  // namespace attn::plot
