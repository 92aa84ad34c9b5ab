#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attn/error.hpp"

#include "plot/axes/arrangement.hpp"
#include "plot/colour/colour.hpp"
#include "plot/parts.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn::plot {
namespace {

constexpr const char* shares_title = to_translate("Shares");
constexpr double shares_width = 8, row_of_shares = 0.24, around_shares = 1.6, most_shares = 20;
constexpr double share_thickness = 0.8;                   // of the room of a bar
constexpr double share_size = 8, least_beside_share = 2;  // points
constexpr double share_least_width = 0.4;                 // of the figure, beside the legend

}  // namespace

Picture draw_stacked_bars(const StackedBars& chart, const FigureOptions& options,
                          PictureFormat format) {
  if (chart.rows.empty() || chart.parts.empty()) {
    throw input_error(translated("there are no bars to draw"), "", translated("give at least one"));
  }
  const auto count = static_cast<double>(chart.rows.size());
  Figure figure(options, format,
                {shares_width, std::min(around_shares + row_of_shares * count, most_shares)});
  const std::string title = title_of(options, chart.title, shares_title);
  std::vector<LegendEntry> entries;
  std::string names;
  for (std::size_t p = 0; p < chart.parts.size(); ++p) {
    entries.push_back({chart.parts[p], head_colour(p)});
    names += (p == 0 ? "" : ", ") + chart.parts[p];
  }
  figure.describe(title,
                  translated("{1} of shares of {2}.",
                             translated_count(chart.rows.size(), "{1} bar", "{1} bars"), names));
  const ChartTexts texts{title, options.xlabel.value_or(chart.value_name),
                         options.ylabel.value_or("")};
  const Interval view{0, 1};
  const Arrangement all = arranged_beside_legend(
      figure, texts, entries, share_least_width, [&](Axes& axes, Figure& on) {
        set_value_ticks(axes.x, view, axes.box.width(), true, on);
        std::vector<std::string> from_above;
        for (const StackedBars::Row& row : chart.rows) from_above.push_back(row.name);
        set_cell_ticks(axes.y, {from_above, options.ticks, 0}, axes.box.height(), false, on);
      });
  const Box& box = all.axes.box;
  const double room = box.height() / count;
  return figure.picture(all.bounds(), [&](Canvas& canvas) {
    for (std::size_t r = 0; r < chart.rows.size(); ++r) {
      const double middle = box.top + (static_cast<double>(r) + 0.5) * room;
      double left = box.left;
      for (std::size_t p = 0; p < chart.parts.size(); ++p) {
        const double share = std::clamp(chart.rows[r].shares[p], 0.0, 1.0);
        const Box bar{left, middle - share_thickness * room / 2, left + share * box.width(),
                      middle + share_thickness * room / 2};
        if (!bar.empty()) canvas.fill(bar, head_colour(p));
        left = bar.right;
        const Text& number =
            figure.typesetter().text(with_decimals(chart.rows[r].shares[p], 2), share_size);
        const double beside = figure.pixels(2 * least_beside_share);
        if (number.width + beside > bar.width() || number.height > bar.height()) continue;
        canvas.text(place(number, {bar.middle(), bar.centre()},
                          {Horizontal::centre, Vertical::centre_of_capitals}),
                    readable_on(head_colour(p)));
      }
    }
    all.draw(canvas, figure);
  });
}

}  // namespace attn::plot
