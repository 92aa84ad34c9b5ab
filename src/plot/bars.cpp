#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attn/error.hpp"

#include "plot/axes/arrangement.hpp"
#include "plot/colour/colour.hpp"
#include "plot/numbers/ticks.hpp"
#include "plot/parts.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot::bars {
namespace {

constexpr const char* default_title = to_translate("Parts of a Sum");
constexpr double usual_width = 8, bar_height = 0.27, margins = 1.5, most_height = 20;  // inches
constexpr double thickness = 0.7;  // of the room of a bar
constexpr double zero_width = 1;   // points
constexpr double margin = 0.12;    // of the range of values, at both ends; for their numbers
constexpr double value_size = 9, value_gap = 3, heading_size = 11;  // points
constexpr double room_of_heading = 1.6;                             // rows
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

// Rows of a chart from above: bars, and before each of several groups a line with its name.
struct Rows {
  std::vector<double> of_bars, of_groups;  // number of the row of each
  double count = 0;

  explicit Rows(const BarChart& chart) {
    const bool several = chart.group_names.size() > 1;
    for (std::size_t n = 0; n < chart.bars.size(); ++n) {
      while (several && of_groups.size() <= chart.bars[n].group) {
        of_groups.push_back(count);
        count += room_of_heading;
      }
      of_bars.push_back(count++);
    }
  }

  // The middle of a row as a share of the chart's height, from above.
  double middle(double row) const { return (row + 0.5) / count; }
};

// A chart of few bars is low, and its names may still be as long as the figure is wide.
void name_bars(const BarChart& chart, const Rows& rows, Axis& axis, Figure& figure) {
  for (std::size_t n = 0; n < chart.bars.size(); ++n) {
    axis.ticks.push_back({1 - rows.middle(rows.of_bars[n]),
                          shortened(chart.bars[n].name, axis.tick_label_size,
                                    longest_name * figure.width(), figure.typesetter())});
  }
}

// The strips of the frame that hold the names of groups: between them each group is a panel of its
// own, as what two groups sum to does not add up.
std::vector<Box> headings_of(const Box& box, const Rows& rows, const Figure& figure) {
  std::vector<Box> headings;
  const double room = box.height() / rows.count, beyond = figure.pixels(2 * frame_width);
  for (std::size_t g = 0; g < rows.of_groups.size(); ++g) {
    const double top = box.top + rows.of_groups[g] * room;
    headings.push_back({box.left - beyond, g == 0 ? top - beyond : top, box.right + beyond,
                        top + room_of_heading * room});
  }
  return headings;
}

// Cuts the frame into panels.
void part_panels(Canvas& canvas, const Box& box, const std::vector<Box>& headings,
                 const Figure& figure) {
  const double line = figure.pixels(frame_width);
  const Colour ink = figure.paper().ink;
  for (std::size_t g = 0; g < headings.size(); ++g) {
    canvas.fill(headings[g], figure.paper().ground);
    if (g > 0) canvas.tick({box.left, headings[g].top}, box.width(), 0, ink, line);
    canvas.tick({box.left, headings[g].bottom}, box.width(), 0, ink, line);
  }
}

// Names of groups with their sums, and the numbers at the ends of bars.
std::vector<PlacedText> texts_in(const Box& box, const BarChart& chart, const Rows& rows,
                                 const View& across, Figure& figure) {
  std::vector<PlacedText> texts;
  Typesetter& typesetter = figure.typesetter();
  for (std::size_t g = 0; g < rows.of_groups.size(); ++g) {
    std::string name = chart.group_names[g];
    if (g < chart.group_sums.size())
      name = translated("{1}: sum {2}", name, short_number(chart.group_sums[g]));
    const double middle = (rows.of_groups[g] + room_of_heading / 2) / rows.count;
    texts.push_back(place(typesetter.text(name, heading_size),
                          {box.middle(), box.top + middle * box.height()},
                          {Horizontal::centre, Vertical::centre_of_capitals}));
  }
  for (std::size_t n = 0; n < chart.bars.size(); ++n) {
    const double value = chart.bars[n].value;
    const double gap = figure.pixels(value_gap) * (value < 0 ? -1 : 1);
    texts.push_back(place(
        typesetter.text(short_number(value), value_size),
        {across.across(box, value) + gap, box.top + rows.middle(rows.of_bars[n]) * box.height()},
        {value < 0 ? Horizontal::right : Horizontal::left, Vertical::centre_of_capitals}));
  }
  return texts;
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
  const Rows rows(chart);
  Figure figure(options, format,
                {usual_width, std::min(margins + bar_height * rows.count, most_height)});
  const std::string title = title_of(options, chart.title, default_title);
  const auto longest = std::max_element(
      chart.bars.begin(), chart.bars.end(),
      [](const auto& a, const auto& b) { return std::abs(a.value) < std::abs(b.value); });
  figure.describe(title, translated("{1}, the longest {2}.",
                                    translated_count(count, "{1} bar", "{1} bars"), longest->name));

  const ChartTexts texts{title, options.xlabel.value_or(chart.value_name),
                         options.ylabel.value_or("")};
  const Arrangement all =
      arranged_beside_legend(figure, texts, {}, least_width, [&](Axes& axes, Figure& on) {
        set_value_ticks(axes.x, view, axes.box.width(), true, on);
        name_bars(chart, rows, axes.y, on);
      });
  const Box& box = all.axes.box;
  const View across{view, {0, 1}};
  const std::vector<PlacedText> written = texts_in(box, chart, rows, across, figure);
  return figure.picture(all.bounds(), [&](Canvas& canvas) {
    const double room = box.height() / rows.count, zero = across.across(box, 0);
    for (std::size_t n = 0; n < count; ++n) {
      const BarChart::Bar& bar = chart.bars[n];
      const double end = across.across(box, bar.value);
      const double middle = box.top + rows.middle(rows.of_bars[n]) * box.height();
      canvas.fill({std::min(zero, end), middle - thickness * room / 2, std::max(zero, end),
                   middle + thickness * room / 2},
                  head_colour(bar.group));
    }
    canvas.tick({zero, box.top}, 0, box.height(), figure.paper().ink, figure.pixels(zero_width));
    all.draw(canvas, figure);
    part_panels(canvas, box, headings_of(box, rows, figure), figure);
    for (const PlacedText& text : written) canvas.text(text, figure.paper().ink);
  });
}

}  // namespace attn
