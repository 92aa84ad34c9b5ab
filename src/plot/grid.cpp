#include <algorithm>
#include <cmath>

#include "attn/error.hpp"

#include "plot/axes/cell_ticks.hpp"
#include "plot/axes/colour_bar.hpp"
#include "plot/axes/subplots.hpp"
#include "plot/cells/cell_values.hpp"
#include "plot/colour_key.hpp"

namespace attn {
namespace plot {
namespace {

constexpr double least_side = 2.5;        // inches of the figure
constexpr double share_beside_bar = 0.8;  // of a panel's place, where each has a colour bar
constexpr double panel_bar_gap = 0.04;    // of the place
constexpr double panel_bar_width = 0.04;  // of the place
constexpr double caption_size = 9, caption_gap = 5;  // points
constexpr const char* default_xlabel = "Keys";
constexpr const char* default_ylabel = "Queries";
constexpr double colour_bar_height = 0.6;  // of the panels' height
constexpr double least_gap = 6;            // points between the texts of neighbouring panels
constexpr double key_gap = 12;             // points; above the key of the colours
constexpr double title_pad = 10;           // points; of the whole figure's title

std::vector<Matrix> matrices_of(const HeatmapGrid& grid) {
  if (grid.panels.empty() || grid.panels.size() > grid.rows * grid.columns ||
      grid.panels.size() <= (grid.rows - 1) * grid.columns) {
    throw input_error(std::to_string(grid.panels.size()) + " panels do not fill a grid of " +
                          std::to_string(grid.rows) + " × " + std::to_string(grid.columns),
                      "", "give one matrix for each place, row by row");
  }
  std::vector<Matrix> matrices;
  for (std::size_t i = 0; i < grid.panels.size(); ++i) {
    const std::string where = "panel " + std::to_string(i + 1);
    matrices.emplace_back(grid.panels[i], where);
    const Shape& shape = grid.panels[i].weights.shape();
    const Shape& first = grid.panels[0].weights.shape();
    if (shape != first) {
      throw input_error(
          "weights of shape " + text(shape) + " stand beside weights of shape " + text(first),
          where, "panels share their axes: all must have one shape");
    }
  }
  return matrices;
}

std::vector<std::string> titles_of(const HeatmapGrid& grid, const PlotOptions& options) {
  std::vector<std::string> titles(grid.panels.size());
  if (options.titles && !options.titles->empty() && options.titles->size() != grid.columns) {
    throw Error(ErrorKind::usage,
                std::to_string(options.titles->size()) + " titles for " +
                    std::to_string(grid.columns) + (grid.columns == 1 ? " column" : " columns"),
                "", "give one title for each column, or none");
  }
  const bool rows_titled = !grid.row_titles.empty();
  const bool standard = options.style == PlotStyle::standard;
  for (std::size_t i = 0; i < titles.size(); ++i) {
    const std::size_t column = i % grid.columns;
    if (rows_titled && standard && i >= grid.columns) break;
    if (options.titles) {
      if (!options.titles->empty()) titles[i] = (*options.titles)[column];
    } else if (!grid.panels[i].title.empty()) {
      titles[i] = grid.panels[i].title;
    } else if (titles.size() > 1) {
      titles[i] = "Head " + std::to_string(column + 1);
    }
    if (rows_titled && !standard && !options.titles) {
      const std::string& row = grid.row_titles[i / grid.columns];
      titles[i] = titles[i].empty() ? row : row + ", " + titles[i];
    }
  }
  return titles;
}

// A row of many panels in several rows.
HeatmapGrid wrapped(const HeatmapGrid& grid, const PlotOptions& options) {
  constexpr std::size_t most_in_a_row = 6;
  const bool automatic =
      options.style == PlotStyle::standard && !options.titles && grid.columns > most_in_a_row;
  if (grid.rows != 1 || grid.panels.empty() || !(options.columns || automatic)) return grid;
  HeatmapGrid result = grid;
  const auto square = std::ceil(std::sqrt(static_cast<double>(grid.panels.size())));
  result.columns = std::clamp<std::size_t>(
      options.columns.value_or(static_cast<std::size_t>(square)), 1, grid.panels.size());
  result.rows = (grid.panels.size() + result.columns - 1) / result.columns;
  for (std::size_t i = 0; i < result.panels.size() && !options.titles; ++i) {
    std::string& title = result.panels[i].title;
    if (title.empty()) title = "Head " + std::to_string(i + 1);
  }
  return result;
}

std::pair<double, double> default_size(const HeatmapGrid& grid) {
  const auto side = [&](std::size_t panels) {
    return std::max(least_side, grid.panel_side * static_cast<double>(panels));
  };
  return {side(grid.columns), side(grid.rows)};
}

class GridFigure {
 public:
  GridFigure(const HeatmapGrid& grid, const PlotOptions& options, PictureFormat format)
      : grid_(wrapped(grid, options)),
        options_(options),
        matrices_(matrices_of(grid_)),
        titles_(titles_of(grid_, options)),
        figure_(options, format, default_size(grid_)) {
    if (each_panel_its_range()) {
      for (std::size_t i = 0; i < matrices_.size(); ++i) {
        scales_.push_back(colour_scale({&matrices_[i], 1}, !grid_.panels[i].any_numbers, options));
      }
    } else {
      const bool weights = std::none_of(grid_.panels.begin(), grid_.panels.end(),
                                        [](const Heatmap& panel) { return panel.any_numbers; });
      scales_.push_back(colour_scale(matrices_, weights, options));
    }
    value_options_.annotate = options.annotate;
    if (matplotlib() && options.annotate == Annotate::automatic) {
      value_options_.annotate = Annotate::off;
    }
    if (options.annotate_color) value_options_.colour = parse_colour(*options.annotate_color);
  }

  Picture draw() {
    const Box area = default_subplot_area(figure_.width(), figure_.height());
    const ColourBarSplit split = split_for_colour_bar(area);
    std::optional<Bar> shared_bar;
    if (!each_panel_its_range()) {
      shared_bar =
          bar_in(colour_bar_axes(with_height(split.colour_bar, colour_bar_height), scales_[0].range,
                                 options_.colorbar_label.value_or(""), figure_, options_),
                 scales_[0]);
    }
    lay_out_panels(shared_bar ? split.axes : area);

    Box bounds = shared_bar ? shared_bar->bounds() : panels_[0].bounds();
    for (const Panel& panel : panels_) {
      bounds = united(bounds, panel.bounds());
      for (const CellValue& value : panel.values) bounds = united(bounds, value.text.bounds);
    }
    std::vector<PlacedText> title;
    if (options_.title && !options_.title->empty()) {
      const Point anchor = {bounds.middle(), bounds.top - figure_.pixels(title_pad)};
      title = placed_lines(figure_.title(*options_.title, title_size, figure_.width()), title_size,
                           anchor, {Horizontal::centre, Vertical::bottom}, figure_.typesetter());
      bounds = united(bounds, bounds_of(title));
    }
    const std::vector<LegendEntry> entries = colour_key(matrices_, panels_[0].colours);
    const Point corner = shared_bar ? Point{shared_bar->axes.box.left, shared_bar->bounds().bottom}
                                    : Point{bounds.left, bounds.bottom};
    const Legend key(entries, {corner.x, corner.y + figure_.pixels(key_gap)}, figure_);
    if (!entries.empty()) bounds = united(bounds, key.bounds());
    return figure_.picture(bounds, [&](Canvas& canvas) {
      for (std::size_t i = 0; i < panels_.size(); ++i) draw_panel(canvas, i);
      if (shared_bar) draw_bar(canvas, *shared_bar);
      key.draw(canvas, figure_);
      for (const PlacedText& text : title) canvas.text(text, black);
    });
  }

 private:
  struct Bar {
    Axes axes;
    Decorations decorations;
    const ColourScale* scale;

    Box bounds() const {
      Box all = united(decorations.bounds, axes.box);
      if (scale->beyond_high) all.top = std::min(all.top, axes.box.top - arrow_height(axes.box));
      if (scale->beyond_low) {
        all.bottom = std::max(all.bottom, axes.box.bottom + arrow_height(axes.box));
      }
      return all;
    }
  };

  struct Panel {
    Axes axes;
    CellColours colours;
    Decorations decorations;
    std::vector<CellValue> values;
    std::optional<Bar> bar;

    Box bounds() const {
      return bar ? united(decorations.bounds, bar->bounds()) : decorations.bounds;
    }
  };

  Bar bar_in(Axes axes, const ColourScale& scale) {
    axes.style = options_.style;
    Decorations decorations = decorate(axes, figure_.typesetter());
    return {std::move(axes), std::move(decorations), &scale};
  }

  void draw_bar(Canvas& canvas, const Bar& bar) {
    draw_colour_ramp(canvas, bar.axes.box, *bar.scale);
    draw_axes(canvas, bar.axes, bar.decorations, figure_);
  }

  bool matplotlib() const { return options_.style == PlotStyle::matplotlib; }
  bool each_panel_its_range() const {
    return options_.color_range.scope == ColorRange::Scope::panel && matrices_.size() > 1;
  }

  static Box with_height(const Box& place, double share) {
    const double half = share * place.height() / 2;
    return {place.left, place.centre() - half, place.right, place.centre() + half};
  }

  void lay_out_panels(const Box& area) {
    auto places = subplot_places(area, grid_.rows, grid_.columns);
    place_panels(places);
    // matplotlib leaves texts to run into the next panel; the standard style makes room for them,
    // and bars between panels, which matplotlib has not, always get it.
    if (matplotlib() && !each_panel_its_range()) {
      part_neighbours();
      return;
    }
    places = subplot_places(area, grid_.rows, grid_.columns, gaps_taken(places));
    place_panels(places);
  }

  // Leaves out the last index below a panel where it runs into the first one of the next.
  void part_neighbours() {
    const auto end = [&](const Panel& panel, const Tick& tick, double side) {
      const Axes& axes = panel.axes;
      const Text& text = figure_.typesetter().text(tick.label, axes.x.tick_label_size);
      return axes.box.left + tick.position * axes.box.width() + side * text.width / 2;
    };
    for (std::size_t i = 0; i + 1 < panels_.size(); ++i) {
      Axis& axis = panels_[i].axes.x;
      const Axis& next = panels_[i + 1].axes.x;
      if ((i + 1) % grid_.columns == 0 || !axis.labelled || !next.labelled) continue;
      if (axis.ticks.size() < 2 || next.ticks.empty() || axis.tick_label_degrees != 0) continue;
      if (end(panels_[i], axis.ticks.back(), 1) <= end(panels_[i + 1], next.ticks.front(), -1)) {
        continue;
      }
      axis.ticks.pop_back();
      panels_[i].decorations = decorate(panels_[i].axes, figure_.typesetter());
      add_caption(panels_[i], grid_.panels[i].caption);
    }
  }

  void place_panels(const std::vector<Box>& places) {
    const double aspect =
        static_cast<double>(matrices_[0].rows()) / static_cast<double>(matrices_[0].columns());
    panels_.clear();
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      Panel panel;
      const ColourScale& scale = scales_[each_panel_its_range() ? i : 0];
      panel.colours = {&scale.map,    scale.range,     options_.style,
                       options_.norm, options_.pixels, options_.threads};
      Box place = places[i];
      if (each_panel_its_range()) place.right = place.left + share_beside_bar * place.width();
      panel.axes = axes_in(with_aspect(place, aspect, 1), i);
      panel.decorations = decorate(panel.axes, figure_.typesetter());
      add_caption(panel, grid_.panels[i].caption);
      if (each_panel_its_range()) {
        panel.bar = bar_beside(panel, places[i].width(), scale);
      }
      panel.values = cell_values(panel.axes.box, matrices_[i], panel.colours, value_options_,
                                 figure_.typesetter());
      panels_.push_back(std::move(panel));
    }
  }

  // A colour bar as high as its panel.
  Bar bar_beside(const Panel& panel, double width, const ColourScale& scale) {
    Box place = panel.axes.box;
    place.left = place.right + panel_bar_gap * width;
    place.right = place.left + panel_bar_width * width;
    Axes axes;
    axes.box = place;
    axes.x.drawn = false;
    axes.y_on_right = true;
    set_bar_ticks(axes, panel.colours.range, figure_, options_);
    return bar_in(std::move(axes), scale);
  }

  // Writes lines below a panel and all that is written around it.
  void add_caption(Panel& panel, const std::string& caption) {
    Decorations& around = panel.decorations;
    for (std::size_t start = 0; start < caption.size();) {
      const std::size_t end = std::min(caption.find('\n', start), caption.size());
      const Text& line =
          figure_.typesetter().text(caption.substr(start, end - start), caption_size);
      const Point anchor = {panel.axes.box.middle(),
                            around.bounds.bottom + figure_.pixels(caption_gap)};
      around.texts.push_back(place(line, anchor, {Horizontal::centre, Vertical::top}));
      around.bounds = united(around.bounds, around.texts.back().bounds);
      start = end + 1;
    }
  }

  // What the texts of neighbouring panels take of the room between their places, and a margin.
  Gaps gaps_taken(const std::vector<Box>& places) const {
    const double margin = figure_.pixels(least_gap);
    Gaps gaps;
    for (std::size_t i = 0; i < panels_.size(); ++i) {
      const Box texts = panels_[i].bounds();
      const std::size_t right = i + 1, below = i + grid_.columns;
      if (right % grid_.columns != 0 && right < panels_.size()) {
        const double taken =
            texts.right - places[i].right + places[right].left - panels_[right].bounds().left;
        gaps.across = std::max(gaps.across, taken + margin);
      }
      if (below < panels_.size()) {
        const double taken =
            texts.bottom - places[i].bottom + places[below].top - panels_[below].bounds().top;
        gaps.down = std::max(gaps.down, taken + margin);
      }
    }
    return gaps;
  }

  // Only the last row has labels below it, only the first column left of it, and panels whose
  // labels are others.
  Axes axes_in(const Box& box, std::size_t index) {
    const bool last_row = index + grid_.columns >= grid_.panels.size();
    const bool first_column = index % grid_.columns == 0;
    const Heatmap& left = grid_.panels[index - index % grid_.columns];
    std::size_t lowest = index;
    while (lowest + grid_.columns < grid_.panels.size()) lowest += grid_.columns;
    const Heatmap& below = grid_.panels[lowest];
    Axes axes;
    axes.box = box;
    axes.style = options_.style;
    axes.title = figure_.title(titles_[index], axes.title_size, box.width());
    if (last_row)
      axes.x.label = figure_.bounded(options_.xlabel.value_or(default_xlabel), axes.x.label_size);
    if (first_column) {
      axes.y.label = figure_.bounded(options_.ylabel.value_or(default_ylabel), axes.y.label_size);
      if (!matplotlib() && !grid_.row_titles.empty()) {
        axes.y.label = figure_.bounded(grid_.row_titles[index / grid_.columns], axes.y.label_size) +
                       (axes.y.label.empty() ? "" : "\n") + axes.y.label;
      }
    }
    const Heatmap& panel = grid_.panels[index];
    axes.x.labelled = last_row || panel.key_labels != below.key_labels;
    axes.y.labelled = first_column || panel.query_labels != left.query_labels;
    const ShownLabels labels = shown_labels(panel, options_);
    set_ticks(axes.x, labels.key, "K_", panel.first_key, matrices_[index].columns(), box.width(),
              true);
    set_ticks(axes.y, labels.query, "Q_", panel.first_query, matrices_[index].rows(), box.height(),
              false);
    return axes;
  }

  // Panels are small: unless labels are asked for, and can be had, indices are shown.
  void set_ticks(Axis& axis, const std::vector<std::string>& labels, const char* prefix,
                 std::size_t first, std::size_t count, double length, bool horizontal) {
    const bool labelled = options_.ticks == Ticks::labels ||
                          (options_.ticks == Ticks::automatic && !matplotlib() && !labels.empty());
    set_cell_ticks(axis,
                   {labels_or(labels, prefix, count, first),
                    labelled ? options_.ticks : Ticks::index, options_.style, first},
                   length, horizontal, figure_);
  }

  void draw_panel(Canvas& canvas, std::size_t index) {
    const Panel& panel = panels_[index];
    draw_cells(canvas, panel.axes.box, matrices_[index], panel.colours, figure_.pixels(1));
    draw_axes(canvas, panel.axes, panel.decorations, figure_);
    for (const CellValue& value : panel.values) canvas.text(value.text, value.colour);
    if (panel.bar) draw_bar(canvas, *panel.bar);
  }

  const HeatmapGrid grid_;
  const PlotOptions& options_;
  std::vector<Matrix> matrices_;
  std::vector<std::string> titles_;
  Figure figure_;
  std::vector<ColourScale> scales_;  // one, or one a panel
  CellValueOptions value_options_;
  std::vector<Panel> panels_;
};

}  // namespace
}  // namespace plot

Picture draw_grid(const HeatmapGrid& grid, const PlotOptions& options, PictureFormat format) {
  return plot::GridFigure(grid, options, format).draw();
}

}  // namespace attn
