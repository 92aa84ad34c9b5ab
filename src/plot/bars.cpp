#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attn/error.hpp"

#include "plot/axes/arrangement.hpp"
#include "plot/colour/colour.hpp"
#include "plot/parts.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot::bars {
namespace {

constexpr const char* default_title = to_translate("Parts of a Sum");
constexpr double usual_width = 8, bar_height = 0.27, margins = 1.5, most_height = 20;  // inches
constexpr double thickness = 0.7;     // of the room of a bar
constexpr double zero_width = 1;      // points
constexpr double margin = 0.06;       // of the range of values, at both ends
constexpr double least_width = 0.3;   // of the figure, beside the legend
constexpr double longest_name = 0.3;  // of the figure

Interval view_of(const BarChart& chart) {
  Interval values{0, 0};
  for (const BarChart::Bar& bar : chart.bars) {
    if (!std::isfinite(bar.value)) {
      throw input_error(translated("the bar {1} has no finite length", bar.name), "",
                        translated("leave it out"));
    }
    values = {std::min(values.low, bar.value), std::max(values.high, bar.value)};
  }
  values = nonsingular(values, 0.1, 1e-15);
  const double more = margin * (values.high - values.low);
  return {values.low < 0 ? values.low - more : 0, values.high > 0 ? values.high + more : 0};
}

// A chart of few bars is low, and its names may still be as long as the figure is wide.
void name_bars(const BarChart& chart, Axis& axis, Figure& figure) {
  const double count = static_cast<double>(chart.bars.size());
  for (std::size_t n = 0; n < chart.bars.size(); ++n) {
    axis.ticks.push_back({1 - (static_cast<double>(n) + 0.5) / count,
                          shortened(chart.bars[n].name, axis.tick_label_size,
                                    longest_name * figure.width(), figure.typesetter())});
  }
}

}  // namespace
}  // namespace plot::bars

Picture draw_bars(const BarChart& chart, const FigureOptions& options, PictureFormat format) {
  using namespace plot;
  using namespace plot::bars;
  const std::size_t count = chart.bars.size();
  if (count == 0) {
    throw input_error(translated("there are no bars to draw"), "", translated("give at least one"));
  }
  const Interval view = view_of(chart);
  Figure figure(
      options, format,
      {usual_width, std::min(margins + bar_height * static_cast<double>(count), most_height)});
  std::vector<LegendEntry> entries;
  for (std::size_t g = 0; g < chart.group_names.size() && chart.group_names.size() > 1; ++g) {
    entries.push_back({chart.group_names[g], head_colour(g)});
  }
  const std::string title = title_of(options, chart.title, default_title);
  const auto longest = std::max_element(
      chart.bars.begin(), chart.bars.end(),
      [](const auto& a, const auto& b) { return std::abs(a.value) < std::abs(b.value); });
  figure.describe(title, translated("{1}, the longest {2}.",
                                    translated_count(count, "{1} bar", "{1} bars"), longest->name));

  const ChartTexts texts{title, options.xlabel.value_or(chart.value_name),
                         options.ylabel.value_or("")};
  const Arrangement all =
      arranged_beside_legend(figure, texts, entries, least_width, [&](Axes& axes, Figure& on) {
        set_value_ticks(axes.x, view, axes.box.width(), true, on);
        name_bars(chart, axes.y, on);
      });
  const Box& box = all.axes.box;
  const View across{view, {0, 1}};
  return figure.picture(all.bounds(), [&](Canvas& canvas) {
    const double room = box.height() / static_cast<double>(count), zero = across.across(box, 0);
    for (std::size_t n = 0; n < count; ++n) {
      const BarChart::Bar& bar = chart.bars[n];
      const double end = across.across(box, bar.value);
      const double top = box.top + (static_cast<double>(n) + (1 - thickness) / 2) * room;
      canvas.fill({std::min(zero, end), top, std::max(zero, end), top + thickness * room},
                  head_colour(bar.group));
    }
    canvas.tick({zero, box.top}, 0, box.height(), figure.paper().ink, figure.pixels(zero_width));
    all.draw(canvas, figure);
  });
}

}  // namespace attn
