#include <algorithm>
#include <cmath>

#include "attn/error.hpp"

#include "plot/axes/colour_bar.hpp"
#include "plot/cells/cell_pixels.hpp"
#include "plot/colour_key.hpp"
#include "plot/description.hpp"
#include "plot/grid_figure.hpp"
#include "plot/grid_panels.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot {
namespace {

constexpr double least_side = 2.5;        // inches of the figure
constexpr double share_beside_bar = 0.8;  // of a panel's place, where each has a colour bar
constexpr double panel_bar_gap = 0.04;    // of the place
constexpr double panel_bar_width = 0.04;  // of the place
constexpr double caption_size = 9, caption_gap = 5;  // points
constexpr double colour_bar_height = 0.6;            // of the panels' height
constexpr double least_gap = 6;        // points between the texts of neighbouring panels
constexpr double title_pad = 10;       // points; of the whole figure's title
constexpr double least_name_size = 6;  // points, of tokens along the panels
constexpr double small_panel = 40, small_frame = 0.5;  // points; a side and its frame's line
constexpr double around_panels = 1.2;                  // inches of the default height

std::pair<double, double> default_size(const HeatmapGrid& grid, const GridOptions& options) {
  const auto side = [&](std::size_t panels, double aspect) {
    return grid.panel_side * aspect * static_cast<double>(panels);
  };
  const double width = std::max(least_side, side(grid.columns, 1));
  if (options.figure.style == PlotStyle::matplotlib) {
    return {width, std::max(least_side, side(grid.rows, 1))};
  }
  const Shape& shape = grid.panels[0].weights.shape();
  return {width, around_panels + side(grid.rows, aspect_of(shape[0], shape[1]))};
}

}  // namespace

Box GridFigure::Bar::bounds() const {
  Box all = united(decorations.bounds, axes.box);
  if (scale->beyond_high) all.top = std::min(all.top, axes.box.top - arrow_height(axes.box));
  if (scale->beyond_low) {
    all.bottom = std::max(all.bottom, axes.box.bottom + arrow_height(axes.box));
  }
  return all;
}

GridFigure::GridFigure(const HeatmapGrid& grid, const GridOptions& options, PictureFormat format)
    : grid_(wrapped(grid, options)),
      options_(options),
      matrices_(matrices_of(grid_)),
      titles_(titles_of(grid_, options)),
      figure_(options.figure, format, default_size(grid_, options)),
      raster_(format == PictureFormat::png) {
  if (each_panel_its_range()) {
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      scales_.push_back(colour_scale({&matrices_[i], 1}, !grid_.panels[i].any_numbers,
                                     options.colors, options.figure));
    }
  } else {
    const bool weights = std::none_of(grid_.panels.begin(), grid_.panels.end(),
                                      [](const Heatmap& panel) { return panel.any_numbers; });
    scales_.push_back(colour_scale(matrices_, weights, options.colors, options.figure));
  }
  paper_ = figure_.paper();
  for (const ColourScale& scale : scales_) paper_ = beside(paper_, scale.map);
  value_options_ = value_options(options.annotation);
  if (matplotlib()) {
    if (options.annotation.when == Annotate::automatic) value_options_.annotate = Annotate::off;
  } else if (!each_panel_its_range() && !value_options_.format && may_hold_values()) {
    value_options_.format = fitting_format(matrices_, scales_[0].range, options.colors.norm);
  }
  // Panels are small: unless labels are asked for, and can be had, indices are shown.
  const auto ticks_of = [&](const std::vector<std::string>& labels, const char* prefix,
                            std::size_t first, std::size_t count) -> CellTicks {
    const bool labelled =
        options.figure.ticks == Ticks::labels || options.figure.ticks == Ticks::all ||
        (options.figure.ticks == Ticks::automatic && !matplotlib() && !labels.empty());
    // Numbers that nobody asked for count from 1, as all that is written does.
    const bool from_one = options.figure.ticks == Ticks::automatic && !matplotlib();
    return {labels_or(labels, prefix, count, first), labelled ? options.figure.ticks : Ticks::index,
            options.figure.style, first + (from_one ? 1 : 0)};
  };
  for (const Heatmap& panel : grid_.panels) {
    const ShownLabels labels = shown_labels(panel, options.figure);
    ticks_.emplace_back(ticks_of(labels.key, "K_", panel.first_key, panel.weights.shape()[1]),
                        ticks_of(labels.query, "Q_", panel.first_query, panel.weights.shape()[0]));
  }
  key_entries_ = colour_key(matrices_, panel_at({0, 0, 1, 1}, 0).colours);
  figure_.describe(options.figure.title.value_or(""), described());
}

Picture GridFigure::draw() {
  if (matplotlib()) {
    lay_out_as_matplotlib();
  } else {
    lay_out();
    if (show_ranges()) lay_out(given_way_);
  }
  add_values();
  Picture picture = figure_.picture(all_bounds(), [&](Canvas& canvas) {
    for (std::size_t i = 0; i < panels_.size(); ++i) draw_panel(canvas, i);
    if (bar_) draw_bar(canvas, *bar_);
    if (key_) key_->draw(canvas, figure_);
    canvas.ticks(brackets_, figure_.paper().ink, figure_.pixels(frame_width));
    for (const PlacedText& text : texts_) canvas.text(text, figure_.paper().ink);
  });
  if (names_left_out_) {
    picture.warnings.emplace_back(
        translated("the panels are too small for the names of their rows and columns: give a "
                   "larger figure size, fewer panels, or ask for all ticks"));
  }
  return picture;
}

// Where a pixel shows the mean of many cells, the colours are spread over what is shown. Returns
// whether that changed them.
bool GridFigure::show_ranges() {
  if (options_.colors.range.scope == ColorRange::Scope::given ||
      options_.colors.pixels != PixelShows::mean ||
      options_.colors.norm.kind == ColorNorm::Kind::log) {
    return false;
  }
  std::vector<std::optional<Interval>> shown(scales_.size());
  for (std::size_t i = 0; i < panels_.size(); ++i) {
    const Panel& panel = panels_[i];
    const Box& box = panel.axes.box;
    // All panels have one size.
    if (!shares_pixels(matrices_[i], box, raster_, panel.colours.in_file)) return false;
    const auto places = [&](double length) {
      return raster_ ? static_cast<std::size_t>(std::max(1.0, length))
                     : panel.colours.in_file.most_across;
    };
    const auto own =
        shown_range(matrices_[i], panel.colours, places(box.width()), places(box.height()));
    std::optional<Interval>& all = shown[each_panel_its_range() ? i : 0];
    if (!own) continue;
    all = all ? Interval{std::min(all->low, own->low), std::max(all->high, own->high)} : *own;
  }
  bool changed = false;
  for (std::size_t i = 0; i < scales_.size(); ++i) {
    if (shown[i]) changed = narrow_to_shown(scales_[i].range, *shown[i]) || changed;
  }
  return changed;
}

Box GridFigure::all_bounds() const {
  Box bounds = panels_[0].bounds();
  for (const Panel& panel : panels_) {
    bounds = united(bounds, panel.bounds());
    for (const CellValue& value : panel.values) bounds = united(bounds, value.text.bounds);
  }
  if (bar_) bounds = united(bounds, bar_->bounds());
  if (key_) bounds = united(bounds, key_->bounds());
  if (!texts_.empty()) bounds = united(bounds, bounds_of(texts_));
  return bounds;
}

std::string GridFigure::described() const {
  std::string text = translated(
      "Heatmaps in {1} and {2}, each of {3}.", translated_count(grid_.rows, "{1} row", "{1} rows"),
      translated_count(grid_.columns, "{1} column", "{1} columns"), described_cells(matrices_[0]));
  if (scales_.size() == 1) {
    text += " " + described_colours(matrices_, scales_[0], key_entries_);
  }
  const auto list = [&](const char* what, const std::vector<std::string>& titles) {
    std::string names;
    for (const std::string& title : titles) {
      if (!title.empty()) names += (names.empty() ? "" : ", ") + title;
    }
    if (!names.empty()) text += what + names + ".";
  };
  list(" Rows: ", grid_.row_titles);
  list(" Panels: ", titles_);
  return text;
}

// Of panels with very many cells the values need not be looked at.
bool GridFigure::may_hold_values() const {
  constexpr std::size_t most_cells = 100'000;
  return options_.annotation.when == Annotate::on ||
         matrices_[0].rows() < most_cells / matrices_[0].columns();
}

bool GridFigure::each_panel_its_range() const {
  return options_.colors.range.scope == ColorRange::Scope::panel && matrices_.size() > 1;
}

GridFigure::Bar GridFigure::bar_in(Axes axes, const ColourScale& scale) {
  axes.style = options_.figure.style;
  Decorations decorations = decorate(axes, figure_.typesetter());
  return {std::move(axes), std::move(decorations), &scale};
}

// A panel in its box, with all that is written around it but not in its cells.
GridFigure::Panel GridFigure::panel_at(const Box& box, std::size_t index) {
  Panel panel;
  const ColourScale& scale = scales_[each_panel_its_range() ? index : 0];
  panel.colours = {&scale.map,
                   scale.range,
                   options_.figure.style,
                   options_.colors.norm,
                   options_.colors.pixels,
                   options_.figure.threads,
                   paper_,
                   cells_in_file(matrices_.size(), matrices_[0].rows(), matrices_[0].columns())};
  panel.axes = axes_in(box, index);
  panel.decorations = decorate(panel.axes, figure_.typesetter());
  if (given_way_ <= captions_give_way) add_caption(panel, grid_.panels[index].caption);
  return panel;
}

void GridFigure::add_values() {
  for (std::size_t i = 0; i < panels_.size(); ++i) {
    panels_[i].values = cell_values(panels_[i].axes.box, matrices_[i], panels_[i].colours,
                                    value_options_, figure_.typesetter());
  }
}

// A colour bar as high as its panel.
GridFigure::Bar GridFigure::bar_beside(const Panel& panel, double width, const ColourScale& scale) {
  Box place = panel.axes.box;
  place.left = place.right + panel_bar_gap * width;
  place.right = place.left + panel_bar_width * width;
  Axes axes;
  axes.box = place;
  axes.x.drawn = false;
  axes.y_on_right = true;
  set_bar_ticks(axes, panel.colours.range, figure_, options_.colors.norm);
  return bar_in(std::move(axes), scale);
}

// Writes lines below a panel and all that is written around it.
void GridFigure::add_caption(Panel& panel, const std::string& caption) {
  if (caption.empty()) return;
  Decorations& around = panel.decorations;
  const std::string lines =
      matplotlib() ? caption : figure_.label(caption, caption_size, panel.axes.box.width());
  for (const std::string& string : lines_of(lines)) {
    const Text& line = figure_.typesetter().text(string, caption_size);
    const Point anchor = {panel.axes.box.middle(),
                          around.bounds.bottom + figure_.pixels(caption_gap)};
    around.texts.push_back(place(line, anchor, {Horizontal::centre, Vertical::top}));
    around.bounds = united(around.bounds, around.texts.back().bounds);
  }
}

// Only the last row has labels below it, only the first column left of it, and panels whose
// labels are others. In the matplotlib style these name the axes too, and all have ticks.
Axes GridFigure::axes_in(const Box& box, std::size_t index) {
  const bool last_row = index + grid_.columns >= grid_.panels.size();
  const bool first_column = index % grid_.columns == 0;
  const Heatmap& left = grid_.panels[index - index % grid_.columns];
  std::size_t lowest = index;
  while (lowest + grid_.columns < grid_.panels.size()) lowest += grid_.columns;
  const Heatmap& below = grid_.panels[lowest];
  Axes axes;
  axes.box = box;
  axes.style = options_.figure.style;
  const Heatmap& panel = grid_.panels[index];
  axes.x.labelled = last_row || panel.key_labels != below.key_labels;
  axes.y.labelled = first_column || panel.query_labels != left.query_labels;
  if (matplotlib()) {
    axes.title = figure_.title(titles_[index], axes.title_size, box.width());
    if (last_row)
      axes.x.label = figure_.bounded(options_.figure.xlabel.value_or(translated(grid_xlabel)),
                                     axes.x.label_size);
    if (first_column)
      axes.y.label = figure_.bounded(options_.figure.ylabel.value_or(translated(grid_ylabel)),
                                     axes.y.label_size);
  } else {
    const std::string title = titles_[index].substr(
        titles_[index].starts_with(column_prefix_) ? column_prefix_.size() : 0);
    axes.title = figure_.title(title, axes.title_size, box.width());
    if (given_way_ > tick_labels_give_way) axes.x.labelled = axes.y.labelled = false;
    if (figure_.points(box.width()) < small_panel) axes.line_width = small_frame;
    axes.x.drawn = axes.x.labelled;
    axes.y.drawn = axes.y.labelled;
  }
  set_ticks(axes, index);
  return axes;
}

// In the standard style names of which some would have to be left out give way to numbers: tokens
// out of their text tell nothing.
void GridFigure::set_ticks(Axes& axes, std::size_t index) {
  const auto& [key, query] = ticks_[index];
  if (matplotlib()) {
    set_cell_ticks(axes.x, key, axes.box.width(), true, figure_);
    set_cell_ticks(axes.y, query, axes.box.height(), false, figure_);
    return;
  }
  if (!axes.x.drawn && !axes.y.drawn) return;
  const double usual_size = axes.x.tick_label_size;
  for (const double size : {usual_size, 8.0, 7.0, least_name_size}) {
    axes.x.tick_label_size = axes.y.tick_label_size = size;
    if (set_cell_ticks(axes, key, query, figure_) == 1) return;
    if (key.ticks == Ticks::index && query.ticks == Ticks::index) break;
  }
  axes.x.tick_label_size = axes.y.tick_label_size = usual_size;
  const bool named = options_.figure.ticks == Ticks::automatic &&
                     (key.ticks == Ticks::automatic || query.ticks == Ticks::automatic);
  if (!named) {
    set_cell_ticks(axes, key, query, figure_);
    return;
  }
  names_left_out_ = true;
  CellTicks numbered_key = key, numbered_query = query;
  numbered_key.ticks = numbered_query.ticks = Ticks::index;
  set_cell_ticks(axes, numbered_key, numbered_query, figure_);
}

void GridFigure::draw_panel(Canvas& canvas, std::size_t index) {
  const Panel& panel = panels_[index];
  draw_cells(canvas, panel.axes.box, matrices_[index], panel.colours, figure_.pixels(1));
  draw_axes(canvas, panel.axes, panel.decorations, figure_);
  for (const CellValue& value : panel.values) canvas.text(value.text, value.colour);
  if (panel.bar) draw_bar(canvas, *panel.bar);
}

void GridFigure::draw_bar(Canvas& canvas, const Bar& bar) {
  draw_colour_ramp(canvas, bar.axes.box, *bar.scale);
  draw_axes(canvas, bar.axes, bar.decorations, figure_);
}

void GridFigure::lay_out_as_matplotlib() {
  const auto with_height = [](const Box& place, double share) {
    const double half = share * place.height() / 2;
    return Box{place.left, place.centre() - half, place.right, place.centre() + half};
  };
  const Box whole = default_subplot_area(figure_.width(), figure_.height());
  const ColourBarSplit split = split_for_colour_bar(whole);
  const bool shared_bar = !each_panel_its_range() && options_.colors.bar;
  if (shared_bar) {
    bar_ = bar_in(
        colour_bar_axes(with_height(split.colour_bar, colour_bar_height), scales_[0].range,
                        options_.colors.bar_label.value_or(""), figure_, options_.colors.norm),
        scales_[0]);
  }
  const Box area = shared_bar ? split.axes : whole;
  auto places = subplot_places(area, grid_.rows, grid_.columns);
  place_as_matplotlib(places);
  // matplotlib leaves texts to run into the next panel; bars between panels, which it has not,
  // always get room.
  if (each_panel_its_range()) {
    places = subplot_places(area, grid_.rows, grid_.columns, gaps_taken(places));
    place_as_matplotlib(places);
  } else {
    part_neighbours();
  }
  if (options_.figure.title && !options_.figure.title->empty()) {
    const Box bounds = all_bounds();
    const Point anchor = {bounds.middle(), bounds.top - figure_.pixels(title_pad)};
    texts_ =
        placed_lines(figure_.title(*options_.figure.title, title_size, figure_.width()), title_size,
                     anchor, {Horizontal::centre, Vertical::bottom}, figure_.typesetter());
  }
}

void GridFigure::place_as_matplotlib(const std::vector<Box>& places) {
  const double aspect =
      static_cast<double>(matrices_[0].rows()) / static_cast<double>(matrices_[0].columns());
  panels_.clear();
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    Box place = places[i];
    if (each_panel_its_range()) place.right = place.left + share_beside_bar * place.width();
    panels_.push_back(panel_at(with_aspect(place, aspect, 1), i));
    if (!each_panel_its_range() || !options_.colors.bar) continue;
    panels_.back().bar = bar_beside(panels_.back(), places[i].width(), scales_[i]);
  }
}

// What the texts of neighbouring panels take of the room between their places, and a margin.
Gaps GridFigure::gaps_taken(const std::vector<Box>& places) const {
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

// Leaves out the last index below a panel where it runs into the first one of the next.
void GridFigure::part_neighbours() {
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

}  // namespace plot

Picture draw_grid(const HeatmapGrid& grid, const GridOptions& options, PictureFormat format) {
  return plot::GridFigure(grid, options, format).draw();
}

}  // namespace attn
