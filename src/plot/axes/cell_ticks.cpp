#include "plot/axes/cell_ticks.hpp"

#include <algorithm>
#include <cmath>

#include "plot/axes/colour_bar.hpp"
#include "plot/text/token_labels.hpp"

namespace attn::plot {
namespace {

// The room from one label to the next, in widths of a level label and in heights of a line.
constexpr double room_across = 1.1, room_along = 1.15;
// The longest label, in widths or heights of the figure; the matplotlib style shortens only absurd
// ones.
constexpr double longest_label = 0.25, longest_label_in_matplotlib = 3;
// Where labels thin out, those up to so many heights of a line wide stay level.
constexpr double short_label = 5;
// Labels of the matplotlib style that are closer than this share of a line's height give way to
// indices.
constexpr double crowded = 0.5;

double middle_of(std::size_t cell, std::size_t cells, bool horizontal) {
  const double place = (static_cast<double>(cell) + 0.5) / static_cast<double>(cells);
  return horizontal ? place : 1 - place;
}

// Round numbers of cells from one label to the next: 1, 2, 5, 10, …
std::size_t round_step(double least) {
  std::size_t decade = 1;
  for (;; decade *= 10) {
    for (const std::size_t step : {decade, 2 * decade, 5 * decade}) {
      if (static_cast<double>(step) >= least) return step;
    }
  }
}

// Round numbers of cells from one index to the next, fewer where only one index would be left and
// there is room for two.
std::size_t index_step(const Axis& axis, const CellTicks& ticks, double length, bool horizontal,
                       Figure& figure) {
  const std::size_t cells = ticks.labels.size(), last = ticks.first + cells - 1;
  const auto shown = [&](std::size_t step) {
    return last / step + 1 - (ticks.first + step - 1) / step;
  };
  const Text& widest = figure.typesetter().text(std::to_string(last), axis.tick_label_size);
  const double room = horizontal ? 2 * widest.width : room_along * widest.height;
  const std::size_t least = round_step(room / length * static_cast<double>(cells));
  const int intervals =
      tick_intervals(figure.points(length), axis.tick_label_size * figure.font_scale(), horizontal);
  std::size_t step = round_step(static_cast<double>(cells) / intervals);
  constexpr double to_next = 2.5;  // no two neighbours of 1, 2, 5, 10, … are farther apart
  while (shown(step) < 2 && step > least) {
    step = round_step(static_cast<double>(step) / to_next);
  }
  return step;
}

// Leaves out every second tick as long as level labels overlap.
void thin_out(Axis& axis, double length, Figure& figure) {
  const auto overlap = [&](const Tick& tick, const Tick& next) {
    const Text& a = figure.typesetter().text(tick.label, axis.tick_label_size);
    const Text& b = figure.typesetter().text(next.label, axis.tick_label_size);
    return (a.ink.width() + b.ink.width()) / 2 > (next.position - tick.position) * length;
  };
  while (std::adjacent_find(axis.ticks.begin(), axis.ticks.end(), overlap) != axis.ticks.end()) {
    std::vector<Tick> kept;
    for (std::size_t i = 0; i < axis.ticks.size(); i += 2) kept.push_back(axis.ticks[i]);
    axis.ticks = std::move(kept);
  }
}

// matplotlib's own ticks for an axis of numbers; the standard style leaves out those between
// cells.
std::size_t set_index_ticks(Axis& axis, const CellTicks& cell_ticks, double length, bool horizontal,
                            Figure& figure) {
  const std::size_t cells = cell_ticks.labels.size();
  const bool standard = cell_ticks.style == PlotStyle::standard;
  const auto first = static_cast<double>(cell_ticks.first);
  const Interval view = {first - 0.5, first + static_cast<double>(cells) - 0.5};
  if (!standard) {
    Axis numbers = axis;
    set_value_ticks(numbers, view, length, horizontal, figure);
    if (horizontal) thin_out(numbers, length, figure);
    for (Tick& tick : numbers.ticks) {
      axis.ticks.push_back({horizontal ? tick.position : 1 - tick.position, tick.label});
    }
    axis.offset = numbers.offset;
    return 1;
  }
  const std::size_t step =
      std::max(cell_ticks.least_step, index_step(axis, cell_ticks, length, horizontal, figure));
  const std::size_t last = cell_ticks.first + cells - 1;
  for (std::size_t i = (cell_ticks.first + step - 1) / step * step; i <= last; i += step) {
    axis.ticks.push_back({middle_of(i - cell_ticks.first, cells, horizontal), std::to_string(i)});
  }
  return step;
}

struct Extent {
  double width = 0, height = 0;
};

// Turns the labels of a horizontal axis until they fit, and says how many cells there must be from
// one to the next.
std::size_t turned_step(Axis& axis, const Extent& largest, double cell, bool all) {
  axis.labels_end_at_tick = true;
  if (largest.width * room_across <= cell) return 1;
  const double line = largest.height * room_along;
  if (line * std::sqrt(2.0) <= cell) {
    axis.tick_label_degrees = 45;
    return 1;
  }
  if (line > cell && !all && largest.width <= short_label * line) {
    return round_step(largest.width * room_across / cell);  // short ones stay level and thin out
  }
  axis.tick_label_degrees = 90;
  return line <= cell || all ? 1 : round_step(line / cell);
}

// The fewest cells from one level label to the next without any two overlapping.
std::size_t step_without_overlaps(const std::vector<const Text*>& texts, double cell,
                                  bool horizontal) {
  const auto overlap = [&](const Text& text, const Text& next, double distance) {
    // Labels stand with their middles at the ticks, and those of a vertical axis with their
    // capitals' middles, whose height is the same for all.
    if (!horizontal) return text.ink.bottom - next.ink.top > distance;
    return text.ink.right - text.width / 2 + next.width / 2 - next.ink.left > distance;
  };
  for (std::size_t step = 1;; step = round_step(static_cast<double>(step + 1))) {
    bool apart = true;
    for (std::size_t i = 0; apart && i + step < texts.size(); i += step) {
      apart = !overlap(*texts[i], *texts[i + step], cell * static_cast<double>(step));
    }
    if (apart) return step;
  }
}

}  // namespace

ShownLabels shown_labels(const Heatmap& heatmap, const FigureOptions& options) {
  if (options.style == PlotStyle::matplotlib && !options.show_spaces) {
    return {heatmap.query_labels, heatmap.key_labels};
  }
  const auto spelling = token_spelling({&heatmap.query_labels, &heatmap.key_labels});
  return {readable_tokens(heatmap.query_labels, spelling, options.show_spaces),
          readable_tokens(heatmap.key_labels, spelling, options.show_spaces)};
}

std::vector<std::string> labels_or(const std::vector<std::string>& given, const char* prefix,
                                   std::size_t count, std::size_t first) {
  if (!given.empty()) return given;
  std::vector<std::string> labels;
  labels.reserve(count);
  for (std::size_t i = 1; i <= count; ++i) labels.push_back(prefix + std::to_string(first + i));
  return labels;
}

std::size_t set_cell_ticks(Axis& axis, const CellTicks& ticks, double length, bool horizontal,
                           Figure& figure) {
  const std::size_t cells = ticks.labels.size();
  const bool standard = ticks.style == PlotStyle::standard;
  const bool all = ticks.ticks == Ticks::all || (!standard && ticks.ticks == Ticks::labels);
  const double cell = length / static_cast<double>(cells);
  Typesetter& typesetter = figure.typesetter();
  const double line = typesetter.text("lp", axis.tick_label_size).height;
  if (ticks.ticks == Ticks::index || (!standard && !all && cell < crowded * line)) {
    return set_index_ticks(axis, ticks, length, horizontal, figure);
  }

  const double side = horizontal ? figure.height() : figure.width();
  const double longest = side * (standard ? longest_label : longest_label_in_matplotlib);
  const auto label = [&](std::size_t i) {
    return shortened(ticks.labels[i], axis.tick_label_size, longest, typesetter);
  };
  std::size_t step = 1;
  if (standard) {
    // Where not all can be shown, not all are measured.
    const std::size_t stride = all ? 1 : round_step(line / cell);
    Extent largest;
    for (std::size_t i = 0; i < cells; i += stride) {
      const Text& text = typesetter.text(label(i), axis.tick_label_size);
      largest.width = std::max(largest.width, text.width);
      largest.height = std::max(largest.height, text.height);
    }
    if (horizontal) {
      step = turned_step(axis, largest, cell, all);
    } else if (!all) {
      step = round_step(largest.height * room_along / cell);
    }
  } else if (!all) {
    std::vector<const Text*> texts;
    for (std::size_t i = 0; i < cells; ++i) {
      texts.push_back(&typesetter.text(label(i), axis.tick_label_size));
    }
    step = step_without_overlaps(texts, cell, horizontal);
  }
  if (standard && !all) step = std::max(step, ticks.least_step);
  for (std::size_t i = 0; i < cells; i += step) {
    axis.ticks.push_back({middle_of(i, cells, horizontal), label(i)});
  }
  return step;
}

std::size_t set_cell_ticks(Axes& axes, const CellTicks& key, const CellTicks& query,
                           Figure& figure) {
  const auto set = [&](Axis& axis, CellTicks ticks, bool horizontal, std::size_t least) {
    ticks.least_step = least;
    axis.ticks.clear();
    axis.tick_label_degrees = 0;
    const double length = horizontal ? axes.box.width() : axes.box.height();
    return set_cell_ticks(axis, ticks, length, horizontal, figure);
  };
  std::size_t across = set(axes.x, key, true, 1), down = set(axes.y, query, false, 1);
  const bool same = key.labels.size() == query.labels.size() && key.first == query.first &&
                    key.ticks == query.ticks;
  if (same && across != down && axes.style == PlotStyle::standard) {
    if (across < down) {
      across = set(axes.x, key, true, down);
    } else {
      down = set(axes.y, query, false, across);
    }
  }
  return std::max(across, down);
}

}  // namespace attn::plot
