#include <algorithm>
#include <string>
#include <vector>

#include "attn/error.hpp"

#include "maps/head_pattern.hpp"
#include "pictures/drawing.hpp"
#include "plot/parts.hpp"
#include "plot/sheet.hpp"
#include "support/errors.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// A head of a stack of maps, and the place that it looks at most beyond chance.
struct RankedHead {
  std::size_t layer = 0, head = 0;
  std::string name;
  std::optional<HeadPattern> pattern;

  double excess() const { return pattern ? std::max(0.0, pattern->excess()) : 0; }
};

std::string head_name(const SelectedMap& chosen, std::size_t head) {
  return chosen.map.name.layer() ? chosen.map.name.head_name(head)
                                 : translated("Head {1}", head + chosen.first_number);
}

// "1.1: the previous token\n0.99, by chance 0.24"
std::string title_of(const RankedHead& head) {
  if (!head.pattern) return head.name;
  const HeadStatisticInfo& info =
      head_statistics()[static_cast<std::size_t>(head.pattern->statistic)];
  return translated("{1}: {2}", head.name, translated(info.looks_at)) + "\n" +
         translated("{1}, by chance {2}", with_decimals(head.pattern->share, 2),
                    with_decimals(head.pattern->chance, 2));
}

// Panels of a row: up to four, and rows that are nearly as long.
std::size_t columns_of_best(std::size_t count) {
  constexpr std::size_t most = 4;
  const std::size_t rows = (count + most - 1) / most;
  return (count + rows - 1) / rows;
}

}  // namespace

Picture draw_best_heads(const Drawing& drawing, std::size_t count) {
  std::vector<RankedHead> heads;
  plot::DotMap dots;
  HeatmapGrid grid;
  std::vector<std::string> where;
  bool numbered = true;  // whether layers of one stack are rows
  for (std::size_t layer = 0; layer < drawing.of.size(); ++layer) {
    const SelectedMap chosen(drawing.of[layer].map, drawing.choice);
    for (const std::size_t head : drawn_heads(chosen)) {
      heads.push_back({layer, head, head_name(chosen, head),
                       strongest_pattern(selected_heatmap(chosen, drawing.choice.sample, head))});
    }
    const AttentionName& name = chosen.map.name;
    numbered = numbered && name.layer() && name.stack() == drawing.of[0].map.name.stack();
    dots.rows.push_back(name.layer() ? std::to_string(*name.layer()) : chosen.where);
    where.push_back(chosen.where);
  }
  if (!numbered) dots.rows = where;
  if (count > heads.size()) {
    throw input_error(translated("there are fewer than {1} heads", count), "PlotOptions::best",
                      translated("give 1 to {1}", heads.size()));
  }
  std::vector<RankedHead> best = heads;
  std::ranges::stable_sort(
      best, [](const RankedHead& a, const RankedHead& b) { return a.excess() > b.excess(); });
  best.resize(count);
  const auto is_best = [&](const RankedHead& head) {
    return std::ranges::any_of(best, [&](const RankedHead& one) {
      return one.layer == head.layer && one.head == head.head;
    });
  };
  for (const RankedHead& head : heads) {
    while (dots.columns.size() <= head.head)
      dots.columns.push_back(
          std::to_string(dots.columns.size() + drawing.of[0].map.first_number()));
    dots.dots.push_back({head.layer, head.head, head.excess(), is_best(head) ? head.name : ""});
  }
  for (const RankedHead& head : best) {
    const SelectedMap chosen(drawing.of[head.layer].map, drawing.choice);
    grid.panels.push_back(selected_heatmap(chosen, drawing.choice.sample, head.head));
    grid.panels.back().title = title_of(head);
  }
  grid.columns = grid.panels.size();
  const PlotOptions usual = options_for(drawing, drawing.of[0].map);
  const auto options_on = [&](plot::Panel& panel) {
    PlotOptions options = usual;
    options.figure.panel = &panel;
    options.figure.short_names = true;
    return options;
  };
  plot::Sheet sheet;
  sheet.title = usual.figure.title.value_or(
      translated("The {1} of {2} Heads that Look Most beyond Chance", best.size(), heads.size()));
  dots.title = translated("Dot: share of a head's weight in one place beyond that of even weights");
  using Colours = std::optional<plot::Interval>;
  sheet.rows.push_back({{"", 1, [&](plot::Panel& panel, const Colours&) {
                           PlotOptions options = options_on(panel);
                           options.figure.title = sheet.title;
                           if (!options.columns) options.columns = columns_of_best(best.size());
                           return draw_grid(grid, options.grid(), drawing.format);
                         }}});
  sheet.rows.push_back({{"", 1, [&](plot::Panel& panel, const Colours&) {
                           FigureOptions options = options_on(panel).figure;
                           options.title = dots.title;
                           options.ticks = Ticks::automatic;  // of heads, not of tokens
                           options.xlabel = translated("Head");
                           options.ylabel = numbered ? translated("Layer") : "";
                           return draw_dots(dots, options, drawing.format);
                         }}});
  return draw_sheet(sheet, usual.figure, drawing.format);
}

}  // namespace attn
