#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plot/axes/arrangement.hpp"
#include "plot/callouts.hpp"
#include "plot/caption.hpp"
#include "plot/cells/cells.hpp"
#include "plot/numbers/ticks.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace plot::heatmap {
namespace {

constexpr std::pair<double, double> usual_size = {8, 6};  // inches; of the matplotlib style
// Inches of the default size: all but the map, and the side of a square map.
constexpr double around_map = 1.6, map_side = 4.4;
constexpr double lowest = 2.6, highest = 14;  // inches
constexpr double highest_of_width = 1.1;      // of the width, where the height follows the content
// Names that all have a row of their own in the default size: of letters of seven points, and of
// five where they are more than that leaves room for.
constexpr std::size_t most_named = 160;
constexpr double name_pitch = 7.9 / 72, name_letter = 4.2 / 72;  // inches
constexpr double widest_of_large = 80 * name_pitch, small_pitch = 5.8 / 72;
constexpr std::size_t longest_name = 20;  // letters
constexpr const char* default_title = to_translate("Attention Weight Heatmap");
constexpr double bar_gap = 14;                // points between the map and its bar
constexpr double key_gap = 12, key_lift = 4;  // points; above and below the key of the colours
constexpr std::array order = {Part::axis_labels, Part::bar_label, Part::tick_labels, Part::title};

constexpr Colour sum_colour = {120, 140, 165};
constexpr double sum_share = 0.13;              // of a place's sides that bars of sums take
constexpr double sum_gap = 9;                   // points between the map and the bars
constexpr double value_size = 8, sum_size = 9;  // points
constexpr double least_apart = 3;               // points between the names of values
constexpr double title_pad = 15;                // points
constexpr std::size_t most_bars = 512;          // of more each stands for the mean of several
constexpr const char* sum_label = to_translate("Sum");
constexpr const char* largest_label = to_translate("Largest");

// Letters of the longest name that takes room; none where cells have no names of their own.
std::size_t longest(const CellTicks& ticks) {
  if (ticks.ticks == Ticks::index || ticks.labels.size() > most_named ||
      are_positions(ticks.labels)) {
    return 0;
  }
  std::size_t letters = 0;
  for (const std::string& name : ticks.labels) letters = std::max(letters, display_width(name));
  return std::min(letters, longest_name);
}

// Whether the width of a figure is given, and the height follows what it shows.
bool follows_content(const FigureOptions& options) {
  return options.panel != nullptr || (options.figsize && options.figsize->second == 0);
}

// The height follows the number of rows, and both sides the names of many rows or columns.
std::pair<double, double> default_size(const Matrix& matrix, const MapTicks& ticks,
                                       const FigureOptions& options) {
  if (options.style == PlotStyle::matplotlib) return usual_size;
  // A map whose height is not asked for is as wide as its figure lets it.
  if (follows_content(options)) {
    if (options.panel != nullptr) options.panel->follows_content = true;
    return {1, highest_of_width};
  }
  const double aspect = aspect_of(matrix.rows(), matrix.columns());
  const std::size_t down = longest(ticks.query), across = longest(ticks.key);
  const auto named = [](std::size_t letters, std::size_t cells) {
    const double count = letters == 0 ? 0 : static_cast<double>(cells);
    return std::max(std::min(count * name_pitch, widest_of_large), count * small_pitch);
  };
  const double width =
      std::max({map_side, named(across, matrix.columns()), named(down, matrix.rows()) / aspect});
  double more_across = 0, more_down = 0;
  if (width > map_side) {
    more_across = width - map_side + static_cast<double>(down) * name_letter;
    more_down = static_cast<double>(across) * name_letter;
  }
  return {std::min(usual_size.first + more_across, highest),
          std::clamp(around_map + more_down + width * aspect, lowest, highest)};
}

// Sums of the finite cells of each column and of each row, without hidden and missing ones. Of rows
// that all sum to 1, which would say nothing, the largest cells.
struct MarginalSums {
  std::vector<double> columns, rows;
  bool largest_of_rows = false, largest_of_columns = false;

  MarginalSums(const Matrix& matrix, bool whole_rows)
      : columns(matrix.columns()), rows(matrix.rows()), largest_of_rows(whole_rows) {
    for (std::size_t i = 0; i < matrix.rows(); ++i) {
      for (std::size_t j = 0; j < matrix.columns(); ++j) {
        const double value = matrix.at(i, j);
        if (!std::isfinite(value) || !matrix.shown(i, j)) continue;
        columns[j] += value;
        rows[i] = whole_rows ? std::max(rows[i], value) : rows[i] + value;
      }
    }
  }

  // Those of the map with keys upwards.
  void turn() {
    std::swap(columns, rows);
    std::reverse(rows.begin(), rows.end());
    std::swap(largest_of_rows, largest_of_columns);
  }
};

// The sums of the cells that are shown, if they are asked for, at their sides of the picture.
std::optional<MarginalSums> sums_beside(Matrix whole, const HeatmapOptions& options,
                                        bool whole_rows) {
  if (!options.marginals) return std::nullopt;
  whole.leave_out(options.cells);
  MarginalSums sums(whole, whole_rows);
  if (options.figure.keys_upwards) sums.turn();
  return sums;
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

// The values of bars: from zero, or the smallest sum below it, to the largest sum.
Interval view_of(const std::vector<double>& sums) {
  Interval view = {0, 0};
  for (const double sum : sums) {
    view = {std::max(std::min(view.low, sum), -largest_value),
            std::min(std::max(view.high, sum), largest_value)};
  }
  return view.low == view.high ? Interval{0, 1} : view;
}

// Whether names of values are nearer to each other than `apart` pixels.
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

double sum_gap_on(const Figure& figure) {
  return figure.pixels(sum_gap) * figure.font_scale();
}

// The part of a place that bars of sums leave to the map.
Box beside_sums(const Box& place, const Figure& figure) {
  const double gap = sum_gap_on(figure);
  Box map = place;
  map.top = std::min(place.top + sum_share * place.height() + gap, place.centre());
  map.right = std::max(place.right - sum_share * place.width() - gap, place.middle());
  return map;
}

// Bars of sums at one side of a map.
struct SumBars {
  Axes axes;
  Decorations decorations;
  std::vector<Box> bars;

  // Above the map or right of it, without the names of values that would run into the map's texts.
  SumBars(const std::vector<double>& all_sums, bool above, const Box& map,
          const Decorations& map_texts, const std::string& title, bool labelled,
          const std::string& label, Figure& figure) {
    // Both sides have bars as thick, whatever the map's sides are.
    const double thick = sum_share * std::max(map.width(), map.height());
    const double gap = sum_gap_on(figure);
    axes.style = figure.style();
    axes.box = above ? Box{map.left, map.top - gap - thick, map.right, map.top - gap}
                     : Box{map.right + gap, map.top, map.right + gap + thick, map.bottom};
    axes.title = title;
    axes.title_size = title_size;
    axes.title_pad = title_pad * std::min(1.0, figure.font_scale());
    if (figure.standard()) axes.title_within = {{0, figure.width()}};
    Axis& values = above ? axes.y : axes.x;
    Axis& cells = above ? axes.x : axes.y;
    cells.drawn = cells.labelled = false;
    values.tick_label_size = value_size;
    values.label_size = sum_size;
    values.label = label;
    const std::vector<double> sums = few(all_sums);
    const Interval view = view_of(sums);
    set_value_ticks(values, view, thick, !above, figure);
    add_bars(sums, view, above, map, thick / (view.high - view.low));
    add_texts(values, map_texts, thick, labelled, figure);
  }

  void add_bars(const std::vector<double>& sums, Interval view, bool above, const Box& map,
                double unit) {
    const double step = (above ? map.width() : map.height()) / static_cast<double>(sums.size());
    const double zero = above ? axes.box.bottom + view.low * unit : axes.box.left - view.low * unit;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double start = (above ? map.left : map.top) + static_cast<double>(i) * step;
      const double length = std::clamp(sums[i], view.low, view.high) * unit;
      const double end = above ? zero - length : zero + length;
      const double low = std::min(zero, end), high = std::max(zero, end);
      bars.push_back(above ? Box{start, low, start + step, high}
                           : Box{low, start, high, start + step});
    }
  }

  void add_texts(Axis& values, const Decorations& map_texts, double thick, bool labelled,
                 Figure& figure) {
    Typesetter& typesetter = figure.typesetter();
    values.drawn = labelled;
    if (!labelled || typesetter.text(values.label, sum_size).width > thick) {
      values.label.clear();
    }
    // Where both ends have no room, the higher one stays.
    while (values.ticks.size() > 1 && too_near(axes, figure.pixels(least_apart), typesetter)) {
      values.ticks.erase(values.ticks.begin(),
                         values.ticks.end() - (values.ticks.size() > 2 ? 2 : 1));
    }
    decorations = decorate(axes, typesetter);
    if (!labelled || !run_into(decorations, map_texts)) return;
    values.labelled = false;
    values.label.clear();
    decorations = decorate(axes, typesetter);
  }

  void draw(Canvas& canvas, const Figure& figure) const {
    for (const Box& bar : bars) {
      if (!bar.empty()) canvas.fill(bar, sum_colour);
    }
    draw_axes(canvas, axes, decorations, figure);
  }
};

// Bars of sums above a map and right of it.
std::vector<SumBars> bars_beside(const MarginalSums& sums, const Box& map,
                                 const Decorations& map_texts, const std::string& title,
                                 bool labelled, Figure& figure) {
  std::vector<SumBars> bars;
  bars.emplace_back(sums.columns, true, map, map_texts, title, labelled,
                    translated(sums.largest_of_columns ? largest_label : sum_label), figure);
  bars.emplace_back(sums.rows, false, map, map_texts, "", labelled,
                    translated(sums.largest_of_rows ? largest_label : sum_label), figure);
  return bars;
}

// The label of a colour bar: the usual one or that of the options, and a note about pixels.
std::string bar_label(const std::string& usual, const std::optional<std::string>& own,
                      const std::string& note, double height, Figure& figure) {
  const std::string label = own.value_or(usual);
  return fitted_bar_label(note.empty() ? label : label + "\n(" + note + ")", !own, height, figure);
}

// Options of the values in cells, with the texts that a map gives for them.
CellValueOptions values_of(const Heatmap& heatmap, const Matrix& matrix,
                           const HeatmapOptions& options) {
  CellValueOptions values = value_options(options.annotation);
  values.next_to_bar = options.colors.bar;
  if (heatmap.cell_texts.size() == matrix.rows() * matrix.columns()) {
    values.texts = &heatmap.cell_texts;
  }
  return values;
}

// The parts of a figure for a map of that height to its width and for its bar. A figure of which
// only the width is asked for has none to spare beside the bar.
ColourBarSplit split_of(const Box& area, double aspect, const HeatmapOptions& options,
                        const Figure& figure) {
  if (!options.colors.bar) return {area, area};
  ColourBarSplit split = split_for_colour_bar(area);
  if (!figure.standard() || !follows_content(options.figure)) return split;
  constexpr double bar_width = 0.05;  // of the map's height
  const double gap = figure.pixels_beside_text(bar_gap);
  const double width = (area.width() - gap) / (1 + bar_width * aspect);
  if (width <= split.axes.width()) return split;
  split.axes.right = area.left + width;
  split.colour_bar.left = split.axes.right + gap;
  return split;
}

// The place of a colour bar right of a map: as high as the map in the standard style, and above a
// legend of that many keys.
Box bar_place(const ColourBarSplit& split, const Box& map, std::size_t keys, const Figure& figure) {
  Box place = split.colour_bar;
  if (figure.standard()) {
    const double gap = std::min(figure.pixels(bar_gap), split.colour_bar.left - split.axes.right);
    place = place.moved(map.right + gap - place.left, 0);
    place.top = map.top;
    place.bottom = map.bottom;
  }
  if (keys > 0) place.bottom -= Legend::height(keys, figure) + figure.pixels(key_gap + key_lift);
  return place;
}

// Spreads the colours over what is shown where a pixel shows the mean of many cells. Returns
// whether that changes them.
bool spread_over_means(const Matrix& matrix, const Box& map, const ColorOptions& options,
                       const Figure& figure, ColourScale& scale, CellColours& colours) {
  const auto shown = range_of_means(matrix, map, colours, options.range.scope, figure);
  if (!shown || !narrow_to_shown(scale.range, *shown, scale.least_end)) return false;
  colours.range = scale.range;
  return true;
}

// Whether values are asked for, and not only where their cells have room.
bool asks_for_values(const AnnotationOptions& options) {
  return options.when == Annotate::on || (options.format && options.when != Annotate::off);
}

// Warns of values that were asked for and cannot be read.
void warn_of_values(const std::vector<CellValue>& values, const Figure& figure, Picture& picture) {
  constexpr double readable = 3;  // points; of the ink of digits
  if (values.empty()) {
    picture.warnings.emplace_back(
        translated("no values are written: their cells are too small for them; give a larger "
                   "figure size or a shorter format"));
  } else if (figure.standard() && figure.points(values[0].text.bounds.height()) < readable) {
    picture.warnings.emplace_back(
        translated("the values are too small to be read: give a larger figure size, or choose a "
                   "part of the positions"));
  }
}

void grow_by(Decorations& decorations, const std::vector<CellValue>& values,
             const std::vector<SumBars>& sums) {
  for (const CellValue& value : values) decorations.grow(value.text.bounds);
  for (const SumBars& bars : sums) {
    decorations.grow(united(bars.decorations.bounds, bars.axes.box),
                     united(bars.decorations.layout_bounds, bars.axes.box));
  }
}

// Whether the strongest cells may be named: weights of named queries and keys.
bool names_cells(const Heatmap& heatmap, const HeatmapOptions& options) {
  const FigureOptions& figure = options.figure;
  return figure.style == PlotStyle::standard && !figure.keys_upwards &&
         options.annotation.when == Annotate::automatic && !options.annotation.format &&
         figure.ticks != Ticks::index && !figure.xlabel && !figure.ylabel && !heatmap.any_numbers &&
         heatmap.cell_texts.empty() && !heatmap.query_labels.empty() &&
         !heatmap.key_labels.empty() && !are_positions(heatmap.query_labels) &&
         !are_positions(heatmap.key_labels);
}

// The turned map where keys go upwards; otherwise as it is given.
Heatmap as_shown(const Heatmap& given, const FigureOptions& options) {
  return options.keys_upwards ? with_keys_upwards(given, options) : given;
}

}  // namespace
}  // namespace plot::heatmap

Picture draw_heatmap(const Heatmap& given, const HeatmapOptions& asked, PictureFormat format) {
  using namespace plot;
  using namespace plot::heatmap;
  HeatmapOptions options = asked;
  const Heatmap heatmap = as_shown(given, options.figure);
  // Rows sum to 1 as they are given, turned or left out in part they need not.
  const Matrix whole(given, "weights");
  Matrix matrix = options.figure.keys_upwards ? Matrix(heatmap, "weights") : whole;
  matrix.leave_out(options.cells);
  ColourScale scale =
      scale_of_figure({&whole, 1}, !heatmap.any_numbers, options.colors, options.figure);
  scale.percent = options.figure.style == PlotStyle::standard && are_percent(options.annotation);
  const MapTicks ticks = map_ticks(heatmap, matrix.rows(), matrix.columns(), options.figure);
  Figure figure(options.figure, format, default_size(matrix, ticks, options.figure));
  CellColours colours(scale, options.colors, options.figure, beside(figure.paper(), scale.map),
                      cells_in_file(1, matrix.rows(), matrix.columns()));
  const FrameParts* const frames = options.figure.frames;
  std::vector<LegendEntry> key =
      frames != nullptr ? frames->key : colour_key({&matrix, 1}, colours, options.cells);
  const CellValueOptions value_options = values_of(heatmap, matrix, options);
  const std::optional<MarginalSums> sums = sums_beside(whole, options, scale.whole_rows);
  ChartTexts texts = map_texts(options.figure, heatmap.title, default_title, figure);
  describe(figure, texts.title,
           translated("Heatmap of {1}. ", described_cells(matrix, heatmap.of_positions)) +
               described_colours({&matrix, 1}, scale, key),
           {&whole, 1}, {&given, 1}, look_of(scale.map), options.figure);
  if (options.colors.bar && figure.in_panel()) {
    const std::string label =
        options.colors.bar_label.value_or(usual_bar_label(scale, heatmap.any_numbers, figure));
    const std::string note = norm_note(scale.norm, scale.norm_chosen);
    if (figure.stand_apart({scale, note.empty() ? label : label + "\n(" + note + ")", key})) {
      options.colors.bar = false;
      key.clear();
    }
  }
  const std::string title_above_sums = sums ? std::exchange(texts.title, "") : "";

  std::vector<CellValue> values;
  std::vector<SumBars> sum_bars;
  const auto lay_out = [&](Figure& on, const Box& area, const Shown& shown, bool) {
    const ColourBarSplit split =
        split_of(area, aspect_of(matrix.rows(), matrix.columns()), options, on);
    Arrangement all;
    all.place = sums ? beside_sums(split.axes, on) : split.axes;
    all.axes =
        chart_axes(map_box(all.place, matrix.rows(), matrix.columns(), on), texts, shown, on);
    set_cell_ticks(all.axes, ticks, on);
    all.decorations = decorate(all.axes, on.typesetter());
    const Box map = all.axes.box;
    Box with_sums = map;
    if (sums) {
      const std::string title =
          shown(Part::title) ? on.title(title_above_sums, title_size, on.width()) : "";
      sum_bars = bars_beside(*sums, map, all.decorations, title, shown(Part::tick_labels), on);
      with_sums.right = sum_bars.back().axes.box.right;
    }
    Point key_corner = {with_sums.right + on.pixels(key_gap), map.top};
    if (options.colors.bar) {
      Box place = bar_place(split, with_sums, key.size(), on);
      const std::string label =
          shown(Part::bar_label)
              ? bar_label(usual_bar_label(scale, heatmap.any_numbers, on), options.colors.bar_label,
                          colour_note(matrix, map, colours, on), place.height(), on)
              : "";
      place.bottom = std::max(place.bottom, place.top + 1);
      all.bar.emplace(bar_within(place), label, scale, on.style(), on);
      key_corner = {all.bar->axes.box.left, all.bar->axes.box.bottom + on.pixels(key_gap)};
    }
    if (!key.empty()) all.legend.emplace(as_drawn(key, map, matrix, on), key_corner, on);
    values = cell_values(map, matrix, colours, value_options, on.typesetter());
    grow_by(all.decorations, values, sum_bars);
    return all;
  };
  const auto revised = [&](const Arrangement& all) {
    return spread_over_means(matrix, all.axes.box, options.colors, figure, scale, colours);
  };
  const Arrangement all = arranged(figure, order, lay_out, {}, revised);
  const bool named = values.empty() && figure.names_cells() && names_cells(heatmap, options);
  const std::vector<Callout> callouts =
      named ? callouts_on(all.axes.box, matrix, ticks, figure) : std::vector<Callout>();
  // Other numbers, and maps whose values are left out or asked for, have no remarks to begin with.
  if (!heatmap.any_numbers && options.annotation.when == Annotate::automatic)
    figure.note_named_cells(!callouts.empty());
  Picture picture = figure.picture(all.bounds(), [&](Canvas& canvas) {
    draw_cells(canvas, all.axes.box, matrix, colours, figure.pixels(1));
    all.draw(canvas, figure, [&] {
      for (const CellValue& value : values) canvas.text(value.text, value.colour);
      draw_callouts(canvas, callouts, figure);
    });
    for (const SumBars& bars : sum_bars) bars.draw(canvas, figure);
  });
  if (asks_for_values(options.annotation)) warn_of_values(values, figure, picture);
  return picture;
}

}  // namespace attn
