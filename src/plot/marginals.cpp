#include "plot/marginals.hpp"

#include <algorithm>
#include <cmath>

#include "plot/axes/colour_bar.hpp"
#include "plot/numbers/ticks.hpp"
#include "support/translated.hpp"

namespace attn::plot {
namespace {

constexpr Colour bar_colour = {120, 140, 165};
constexpr double share = 0.13;                 // of a place's sides
constexpr double gap = 9;                      // points between the map and the bars
constexpr double name_size = 8, sum_size = 9;  // points
constexpr double least_apart = 3;              // points between the names of values
constexpr double title_pad = 15;               // points
constexpr std::size_t most_bars = 512;         // of more each stands for the mean of several
constexpr const char* sum_label = to_translate("Sum");

double gap_in(const Figure& figure) {
  return figure.pixels(gap) * figure.font_scale();
}

std::vector<double> few(const std::vector<double>& sums) {
  if (sums.size() <= most_bars) return sums;
  std::vector<double> means;
  for (std::size_t bar = 0; bar < most_bars; ++bar) {
    const std::size_t first = bar * sums.size() / most_bars;
    const std::size_t end = (bar + 1) * sums.size() / most_bars;
    double mean = 0;
    for (std::size_t i = first; i < end; ++i) mean += sums[i] / static_cast<double>(end - first);
    means.push_back(mean);
  }
  return means;
}

// From zero to the largest sum, or from the smallest one below zero.
Interval view_of(const std::vector<double>& sums) {
  Interval view = {0, 0};
  for (const double sum : sums) {
    view = {std::max(std::min(view.low, sum), -largest_value),
            std::min(std::max(view.high, sum), largest_value)};
  }
  return view.low == view.high ? Interval{0, 1} : view;
}

// Whether names of values have less than that between them.
bool too_near(Axes axes, double apart, Typesetter& typesetter) {
  axes.title.clear();
  axes.x.label.clear();
  axes.y.label.clear();
  const Decorations texts = decorate(axes, typesetter);
  for (std::size_t i = 0; i < texts.texts.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (overlap(texts.texts[i].bounds.padded(apart / 2), texts.texts[j].bounds.padded(apart / 2)))
        return true;
    }
  }
  return false;
}

bool run_into(const Decorations& texts, const Decorations& others) {
  return std::any_of(texts.texts.begin(), texts.texts.end(), [&](const PlacedText& text) {
    return std::any_of(others.texts.begin(), others.texts.end(),
                       [&](const PlacedText& other) { return overlap(text.bounds, other.bounds); });
  });
}

}  // namespace

MarginalSums marginal_sums(const Matrix& matrix) {
  MarginalSums sums{std::vector<double>(matrix.columns()), std::vector<double>(matrix.rows())};
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    for (std::size_t j = 0; j < matrix.columns(); ++j) {
      const double value = matrix.at(i, j);
      if (!std::isfinite(value) || !matrix.shown(i, j)) continue;
      sums.columns[j] += value;
      sums.rows[i] += value;
    }
  }
  return sums;
}

Box Marginals::map_place(const Box& place, const Figure& figure) {
  Box map = place;
  map.top = std::min(place.top + share * place.height() + gap_in(figure), place.centre());
  map.right = std::max(place.right - share * place.width() - gap_in(figure), place.middle());
  return map;
}

Marginals::Marginals(const MarginalSums& sums, const Box& map, const Decorations& map_texts,
                     const std::string& title, bool labelled, const FigureOptions& options,
                     Figure& figure) {
  // Both are as thick, whatever the map's sides are.
  const double thick = share * std::max(map.width(), map.height()), away = gap_in(figure);
  const auto finish = [&](Bars& bars, Axis& names) {
    names.drawn = labelled;
    if (!labelled || figure.typesetter().text(translated(sum_label), sum_size).width > thick) {
      names.label.clear();
    }
    // Where ends have no room beside each other, the higher one stays.
    while (names.ticks.size() > 1 &&
           too_near(bars.axes, figure.pixels(least_apart), figure.typesetter())) {
      names.ticks.erase(names.ticks.begin(), names.ticks.end() - (names.ticks.size() > 2 ? 2 : 1));
    }
    bars.decorations = decorate(bars.axes, figure.typesetter());
    if (!labelled || !run_into(bars.decorations, map_texts)) return;
    names.labelled = false;
    names.label.clear();
    bars.decorations = decorate(bars.axes, figure.typesetter());
  };
  {
    Axes& axes = above_.axes;
    axes.style = options.style;
    axes.box = {map.left, map.top - away - thick, map.right, map.top - away};
    axes.x.drawn = axes.x.labelled = false;
    axes.y.tick_label_size = name_size;
    axes.y.label_size = sum_size;
    axes.y.label = translated(sum_label);
    axes.title = title;
    axes.title_size = title_size;
    axes.title_pad = title_pad * std::min(1.0, figure.font_scale());
    if (options.style == PlotStyle::standard) axes.title_within = {{0, figure.width()}};
    const std::vector<double> columns = few(sums.columns);
    const Interval view = view_of(columns);
    set_value_ticks(axes.y, view, thick, false, figure);
    const double unit = thick / (view.high - view.low);
    const double zero = axes.box.bottom + view.low * unit;
    const double step = map.width() / static_cast<double>(columns.size());
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const double left = map.left + static_cast<double>(j) * step;
      const double end = zero - std::clamp(columns[j], view.low, view.high) * unit;
      above_.bars.push_back({left, std::min(zero, end), left + step, std::max(zero, end)});
    }
    finish(above_, axes.y);
  }
  Axes& axes = beside_.axes;
  axes.style = options.style;
  axes.box = {map.right + away, map.top, map.right + away + thick, map.bottom};
  axes.y.drawn = axes.y.labelled = false;
  axes.x.tick_label_size = name_size;
  axes.x.label_size = sum_size;
  axes.x.label = translated(sum_label);
  const std::vector<double> rows = few(sums.rows);
  const Interval view = view_of(rows);
  set_value_ticks(axes.x, view, thick, true, figure);
  const double unit = thick / (view.high - view.low);
  const double zero = axes.box.left - view.low * unit;
  const double step = map.height() / static_cast<double>(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double top = map.top + static_cast<double>(i) * step;
    const double end = zero + std::clamp(rows[i], view.low, view.high) * unit;
    beside_.bars.push_back({std::min(zero, end), top, std::max(zero, end), top + step});
  }
  finish(beside_, axes.x);
}

Box Marginals::bounds(Box Decorations::*of) const {
  return united(united(above_.decorations.*of, above_.axes.box),
                united(beside_.decorations.*of, beside_.axes.box));
}

void Marginals::draw(Canvas& canvas, const Figure& figure) const {
  for (const Bars* bars : {&above_, &beside_}) {
    for (const Box& bar : bars->bars) {
      if (!bar.empty()) canvas.fill(bar, bar_colour);
    }
    draw_axes(canvas, bars->axes, bars->decorations, figure);
  }
}

}  // namespace attn::plot
