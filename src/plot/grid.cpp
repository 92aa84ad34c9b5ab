#include "plot/grid.hpp"

#include <algorithm>
#include <cmath>

#include "attn/error.hpp"

#include "plot/caption.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot {
namespace {

constexpr double grid_least_side = 2.5;   // inches of the figure
constexpr double share_beside_bar = 0.8;  // of a panel's place, where each has a colour bar
constexpr double panel_bar_gap = 0.04;    // of the place
constexpr double panel_bar_width = 0.04;  // of the place
constexpr double caption_size = 9, caption_gap = 5;  // points
constexpr double colour_bar_height = 0.6;            // of the panels' height
constexpr double least_gap = 6;         // points between the texts of neighbouring panels
constexpr double tight_title_pad = 10;  // points; of the whole figure's title
constexpr double grid_small_panel = 40, small_frame = 0.5;  // points; a side and its frame's line
// Points; of panels of smaller sides, the corner's ticks stand for all.
constexpr double least_ticked_panel = 36;
constexpr double around_panels = 1.2;                   // inches of the default height
constexpr double least_panel = 0.4, longest_side = 24;  // inches; of a panel and of all of them

std::pair<double, double> grid_default_size(const HeatmapGrid& grid, const GridOptions& options) {
  // Many panels are smaller, so that their picture can be made.
  double panel_side = grid.panel_side;
  if (options.figure.style == PlotStyle::standard) {
    const auto most = static_cast<double>(std::max(grid.rows, grid.columns));
    panel_side = std::min(panel_side, std::max(least_panel, longest_side / most));
  }
  const auto side = [&](std::size_t panels, double aspect) {
    return panel_side * aspect * static_cast<double>(panels);
  };
  const double width = std::max(grid_least_side, side(grid.columns, 1));
  if (options.figure.style == PlotStyle::matplotlib) {
    return {width, std::max(grid_least_side, side(grid.rows, 1))};
  }
  double aspect = 0;
  for (const Heatmap& panel : grid.panels) {
    const Shape& shape = panel.weights.shape();
    aspect = std::max(aspect, aspect_of(shape[0], shape[1]));
  }
  return {width, around_panels + side(grid.rows, aspect)};
}

std::vector<Matrix> panel_matrices(const HeatmapGrid& grid, const CellChoice& cells) {
  if (grid.panels.empty() || grid.panels.size() > grid.rows * grid.columns ||
      grid.panels.size() <= (grid.rows - 1) * grid.columns) {
    throw input_error(translated("{1} panels do not fill a grid of {2} × {3}", grid.panels.size(),
                                 grid.rows, grid.columns),
                      "", translated("give one matrix for each place, row by row"));
  }
  std::vector<Matrix> matrices;
  for (std::size_t i = 0; i < grid.panels.size(); ++i) {
    const std::string where = translated("panel {1}", i + 1);
    matrices.emplace_back(grid.panels[i], where);
    matrices.back().leave_out(cells);
    const Shape& shape = grid.panels[i].weights.shape();
    const Shape& first = grid.panels[0].weights.shape();
    if (shape != first && !grid.own_axes) {
      throw input_error(translated("weights of shape {1} stand beside weights of shape {2}",
                                   text(shape), text(first)),
                        where, translated("panels share their axes: all must have the same shape"));
    }
  }
  return matrices;
}

// Columns of nearly a square of panels, without a hole in the last row where that is not much
// wider.
std::size_t columns_of(std::size_t panels) {
  constexpr double widest = 1.6;  // of a square's columns
  const double square = std::ceil(std::sqrt(static_cast<double>(panels)));
  const auto least = static_cast<std::size_t>(square);
  for (std::size_t columns = least; static_cast<double>(columns) <= widest * square; ++columns) {
    if (panels % columns == 0) return columns;
  }
  return least;
}

// Whether titles are given for the panels of one row, however many rows it is wrapped to.
bool names_each_panel(const HeatmapGrid& grid, const GridOptions& options) {
  return options.titles && grid.row_titles.empty() && options.titles->size() == grid.panels.size();
}

std::vector<std::string> titles_of(const HeatmapGrid& grid, const GridOptions& options) {
  std::vector<std::string> titles(grid.panels.size());
  const bool for_each = names_each_panel(grid, options);
  if (options.titles && !options.titles->empty() && options.titles->size() != grid.columns &&
      !for_each) {
    throw unlike_columns(options.titles->size(), grid.columns);
  }
  const bool rows_titled = !grid.row_titles.empty();
  const bool standard = options.figure.style == PlotStyle::standard;
  for (std::size_t i = 0; i < titles.size(); ++i) {
    const std::size_t column = i % grid.columns;
    if (rows_titled && standard && i >= grid.columns) break;
    if (options.titles) {
      if (!options.titles->empty()) titles[i] = (*options.titles)[for_each ? i : column];
    } else if (!grid.panels[i].title.empty()) {
      titles[i] = own_words(options.figure, grid.panels[i].title);
    } else if (titles.size() > 1) {
      titles[i] = translated("Head {1}", column + 1);
    }
    if (rows_titled && !standard && !options.titles) {
      const std::string& row = grid.row_titles[i / grid.columns];
      titles[i] = titles[i].empty() ? row : row + translated(", ") + titles[i];
    }
  }
  return titles;
}

// Columns that panels of one row stand in, where the options do not say: those of nearly a square
// of many; of few all or, where the height follows the content, as many as leave room for names
// and for the bars of panels that have their own.
std::size_t usual_columns(const HeatmapGrid& grid, const GridOptions& options) {
  constexpr std::size_t most_in_a_row = 6;
  constexpr double least_width = 1.2, least_with_bar = 2;  // inches
  const std::size_t panels = grid.panels.size();
  if (options.figure.style != PlotStyle::standard ||
      (options.titles && !names_each_panel(grid, options))) {
    return grid.columns;
  }
  if (panels > most_in_a_row) return columns_of(panels);
  const FigureOptions& figure = options.figure;
  if (figure.panel == nullptr && !(figure.figsize && figure.figsize->second == 0))
    return grid.columns;
  const double width = figure.panel != nullptr ? figure.panel->size.first : figure.figsize->first;
  const bool bars = options.colors.bar && options.colors.range.scope == ColorRange::Scope::panel;
  const std::size_t least = bars && panels <= 2 ? 1 : 2;
  const std::size_t most =
      std::max(least, static_cast<std::size_t>(width / (bars ? least_with_bar : least_width)));
  const std::size_t rows = (panels + most - 1) / most;
  return (panels + rows - 1) / rows;
}

// A row of many panels in several rows.
HeatmapGrid wrapped(const HeatmapGrid& given, const GridOptions& options) {
  HeatmapGrid grid = given;
  for (Heatmap& panel : grid.panels) {
    if (options.figure.keys_upwards) panel = with_keys_upwards(panel, options.figure);
  }
  if (grid.rows != 1 || grid.panels.empty()) return grid;
  const std::size_t columns = std::clamp<std::size_t>(
      options.columns.value_or(usual_columns(grid, options)), 1, grid.panels.size());
  if (columns == grid.columns) return grid;
  HeatmapGrid result = grid;
  result.columns = columns;
  result.rows = (grid.panels.size() + result.columns - 1) / result.columns;
  for (std::size_t i = 0; i < result.panels.size() && !options.titles; ++i) {
    std::string& title = result.panels[i].title;
    if (title.empty()) title = translated("Head {1}", i + 1);
    // Brackets go across one row.
    if (result.rows > 1 && grid.columns_a_group > 0 &&
        i / grid.columns_a_group < grid.group_titles.size())
      title += "\n" + grid.group_titles[i / grid.columns_a_group];
  }
  if (result.rows > 1) result.columns_a_group = 0;
  return result;
}

}  // namespace

GridFigure::GridFigure(const HeatmapGrid& grid, const GridOptions& options, PictureFormat format)
    : grid_(wrapped(grid, options)),
      options_(options),
      matrices_(panel_matrices(grid_, options.cells)),
      titles_(titles_of(grid_, options)),
      figure_(options.figure, format, grid_default_size(grid_, options)) {
  // Rows sum to 1 as they are given, turned or left out in part they need not.
  std::vector<Matrix> whole;
  for (const Heatmap& panel : grid.panels) whole.emplace_back(panel, "weights");
  if (each_panel_its_range()) {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::vector<Matrix> alike;
      for (std::size_t k = 0; k < grid_.ranges.size(); ++k) {
        if (grid_.ranges[k] == grid_.ranges[i]) alike.push_back(whole[k]);
      }
      scales_.push_back(colour_scale(alike.empty() ? std::span(&whole[i], 1) : std::span(alike),
                                     !grid_.panels[i].any_numbers, options.colors, options.figure));
    }
  } else {
    const bool weights = std::none_of(grid_.panels.begin(), grid_.panels.end(),
                                      [](const Heatmap& panel) { return panel.any_numbers; });
    scales_.push_back(colour_scale(whole, weights, options.colors, options.figure));
  }
  for (ColourScale& scale : scales_)
    scale.percent = figure_.standard() && are_percent(options.annotation);
  paper_ = figure_.paper();
  for (const ColourScale& scale : scales_) paper_ = beside(paper_, scale.map);
  value_options_ = value_options(options.annotation);
  if (!figure_.standard()) {
    if (options.annotation.when == Annotate::automatic) value_options_.annotate = Annotate::off;
  } else if (!each_panel_its_range() && !value_options_.format && may_hold_values()) {
    value_options_.format =
        fitting_format(matrices_, scales_[0].range, scales_[0].norm, options.colors.bar);
  }
  // Panels are small: unless labels are asked for, and can be had, indices are shown.
  const auto ticks_of = [&](const std::vector<std::string>& labels, const char* prefix,
                            std::size_t first, std::size_t count,
                            std::size_t first_number) -> CellTicks {
    const bool labelled =
        options.figure.ticks == Ticks::labels || options.figure.ticks == Ticks::all ||
        (options.figure.ticks == Ticks::automatic && figure_.standard() && !labels.empty());
    // Numbers that nobody asked for are those of the names that they stand for.
    const bool of_names = options.figure.ticks == Ticks::automatic && figure_.standard();
    return {labels_or(labels, prefix, count, first, first_number),
            labelled ? options.figure.ticks : Ticks::index, first + (of_names ? first_number : 0)};
  };
  for (const Heatmap& panel : grid_.panels) {
    const ShownLabels labels = shown_labels(panel, options.figure);
    const Shape& shape = panel.weights.shape();
    ticks_.push_back({ticks_of(labels.query, "Q_", panel.first_query, shape[0], panel.first_number),
                      ticks_of(labels.key, "K_", panel.first_key, shape[1], panel.first_number)});
    ticks_.back().query.upwards = options.figure.keys_upwards;
    // Heads of one text have its parts.
    if (ticks_.size() > 1 && ticks_[0].key.labels == ticks_.back().key.labels &&
        ticks_[0].query.labels == ticks_.back().query.labels) {
      ticks_.back().query.spans = ticks_[0].query.spans;
      ticks_.back().key.spans = ticks_[0].key.spans;
    } else {
      set_spans(ticks_.back(), panel, options.figure);
      ticks_.back().query.sentences.clear();
      ticks_.back().key.sentences.clear();
    }
  }
  key_entries_ = colour_key(matrices_, colours_of(0), options.cells);
  FigureOptions figure = options.figure;
  figure.caption = figure.caption && !grid_.own_axes;
  describe(figure_, figure.title.value_or(""), described(), matrices_, grid_.panels,
           look_of(scales_[0].map), figure);
}

Picture GridFigure::draw() {
  if (!figure_.standard()) {
    lay_out_as_matplotlib();
  } else {
    lay_out();
    if (show_ranges()) lay_out(Shown(shown_));
  }
  add_values();
  Picture picture = figure_.picture(all_bounds(), [&](Canvas& canvas) {
    for (std::size_t i = 0; i < panels_.size(); ++i) draw_panel(canvas, i);
    if (bar_) bar_->draw(canvas, figure_);
    if (key_) key_->draw(canvas, figure_);
    canvas.ticks(brackets_, figure_.paper().ink, figure_.pixels(frame_width));
    for (const PlacedText& text : texts_) canvas.text(text, figure_.paper().ink);
  });
  if (names_left_out_) {
    picture.warnings.emplace_back(
        translated("the panels are too small for token labels: use a larger "
                   "FigureOptions::figsize, fewer panels, or FigureOptions::ticks all"));
  }
  return picture;
}

// Where a pixel shows the mean of many cells, the colours are spread over what is shown. Returns
// whether that changed them.
bool GridFigure::show_ranges() {
  std::vector<std::optional<Interval>> shown(scales_.size());
  for (std::size_t i = 0; i < panels_.size(); ++i) {
    const auto own = range_of_means(matrices_[i], panels_[i].axes.box, panels_[i].colours,
                                    options_.colors.range.scope, figure_);
    std::optional<Interval>& all = shown[each_panel_its_range() ? i : 0];
    if (!own) continue;
    all = all ? Interval{std::min(all->low, own->low), std::max(all->high, own->high)} : *own;
  }
  bool changed = false;
  for (std::size_t i = 0; i < scales_.size(); ++i) {
    if (shown[i])
      changed = narrow_to_shown(scales_[i].range, *shown[i], scales_[i].least_end) || changed;
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
  const std::string rows = translated_count(grid_.rows, "{1} row", "{1} rows");
  const std::string columns = translated_count(grid_.columns, "{1} column", "{1} columns");
  std::string text;
  if (grid_.own_axes) {
    std::string sizes;
    for (const Matrix& matrix : matrices_) {
      sizes += (sizes.empty() ? "" : translated("; ")) + described_cells(matrix);
    }
    text = translated("Heatmaps in {1} and {2}: {3}.", rows, columns, sizes);
  } else {
    text = translated("Heatmaps in {1} and {2}, each of {3}.", rows, columns,
                      described_cells(matrices_[0]));
  }
  if (scales_.size() == 1) {
    text += " " + described_colours(matrices_, scales_[0], key_entries_);
  }
  const auto list = [&](const std::string& what, const std::vector<std::string>& titles) {
    std::string names;
    for (const std::string& title : titles) {
      if (!title.empty()) names += (names.empty() ? "" : translated(", ")) + title;
    }
    if (!names.empty()) text += what + names + translated(".");
  };
  list(translated(" Rows: "), grid_.row_titles);
  list(translated(" Panels: "), titles_);
  return text;
}

// Whether values might fit the cells of the panels, so that looking at them is worth while.
bool GridFigure::may_hold_values() const {
  constexpr std::size_t most_cells = 100'000;
  return options_.annotation.when == Annotate::on ||
         matrices_[0].rows() < most_cells / matrices_[0].columns();
}

bool GridFigure::each_panel_its_range() const {
  return options_.colors.range.scope == ColorRange::Scope::panel && matrices_.size() > 1;
}

CellColours GridFigure::colours_of(std::size_t index) const {
  return {scales_[each_panel_its_range() ? index : 0], options_.colors, options_.figure, paper_,
          cells_in_file(matrices_.size(), matrices_[0].rows(), matrices_[0].columns())};
}

// A panel in its box, with all that is written around it but not in its cells.
GridFigure::Panel GridFigure::panel_at(const Box& box, std::size_t index) {
  Panel panel;
  panel.colours = colours_of(index);
  panel.axes = axes_in(box, index);
  panel.decorations = decorate(panel.axes, figure_.typesetter());
  if (shown_(Part::captions)) add_caption(panel, grid_.panels[index].caption);
  return panel;
}

// Values are as large in all panels, and in panels of one shape and range in all or in none.
void GridFigure::add_values() {
  CellValueOptions options = value_options_;
  bool any = false, alike = true;
  const auto add = [&] {
    double least = options.most_size, most = 0;
    for (std::size_t i = 0; i < panels_.size(); ++i) {
      std::vector<CellValue>& values = panels_[i].values;
      values = cell_values(panels_[i].axes.box, matrices_[i], panels_[i].colours, options,
                           figure_.typesetter());
      if (values.empty()) continue;
      any = true;
      least = std::min(least, values[0].size);
      most = std::max(most, values[0].size);
    }
    alike = least >= most;
    options.most_size = least;
  };
  add();
  if (!figure_.standard() || !any) return;
  const auto lacks_values = [&](const Panel& panel) {
    const auto i = static_cast<std::size_t>(&panel - panels_.data());
    return panel.values.empty() && value_range({&matrices_[i], 1}, true).has_value();
  };
  const bool alike_in_kind = !grid_.own_axes && !each_panel_its_range();
  if (alike_in_kind && std::ranges::any_of(panels_, lacks_values)) {
    for (Panel& panel : panels_) panel.values.clear();
  } else if (!alike) {
    add();
  }
}

// A colour bar as high as its panel.
ColourBar GridFigure::bar_beside(const Panel& panel, double width, const ColourScale& scale) {
  Box place = panel.axes.box;
  place.left = place.right + panel_bar_gap * width;
  place.right = place.left + panel_bar_width * width;
  return {place, "", scale, figure_.style(), figure_};
}

// Writes lines below a panel and all that is written around it.
void GridFigure::add_caption(Panel& panel, const std::string& caption) {
  if (caption.empty()) return;
  Decorations& around = panel.decorations;
  std::string formula = caption;
  const double width = panel.axes.box.width();
  if (figure_.typesetter().text(caption, caption_size).width > width) {
    // A formula that is too long continues at its equality signs.
    for (std::size_t at = 0; (at = formula.find(" = ", at)) != std::string::npos; ++at) {
      formula[at] = '\n';
    }
  }
  const std::string lines =
      figure_.standard() ? figure_.title(formula, caption_size, width) : caption;
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
  axes.style = figure_.style();
  const Heatmap& panel = grid_.panels[index];
  axes.x.labelled = last_row || grid_.own_axes || panel.key_labels != below.key_labels;
  axes.y.labelled = first_column || grid_.own_axes || panel.query_labels != left.query_labels;
  if (!figure_.standard()) {
    axes.title = figure_.title(titles_[index], axes.title_size, box.width());
    if (last_row)
      axes.x.label =
          figure_.bounded(options_.figure.xlabel.value_or(translated("Keys")), axes.x.label_size);
    if (first_column)
      axes.y.label = figure_.bounded(options_.figure.ylabel.value_or(translated("Queries")),
                                     axes.y.label_size);
  } else {
    const std::string title = titles_[index].substr(
        titles_[index].starts_with(column_prefix_) ? column_prefix_.size() : 0);
    axes.title_size = column_title_size_;
    axes.title = figure_.title(title, axes.title_size, box.width());
    if (!shown_(Part::tick_labels)) axes.x.labelled = axes.y.labelled = false;
    const bool tiny = figure_.points(std::min(box.width(), box.height())) < least_ticked_panel;
    if (tiny && !(last_row && first_column)) axes.x.labelled = axes.y.labelled = false;
    if (figure_.points(box.width()) < grid_small_panel) axes.line_width = small_frame;
    axes.x.drawn = axes.x.labelled;
    axes.y.drawn = axes.y.labelled;
  }
  set_ticks(axes, index);
  return axes;
}

// In the standard style names give way to numbers where some would have to be left out: single
// tokens of a text mean nothing.
void GridFigure::set_ticks(Axes& axes, std::size_t index) {
  const MapTicks& ticks = ticks_[index];
  const auto& [query, key] = ticks;
  if (!figure_.standard()) {
    set_cell_ticks(axes.x, key, axes.box.width(), true, figure_);
    set_cell_ticks(axes.y, query, axes.box.height(), false, figure_);
    return;
  }
  if (!axes.x.drawn && !axes.y.drawn && query.spans.empty() && key.spans.empty()) return;
  const double usual_size = axes.x.tick_label_size;
  if (set_cell_ticks(axes, ticks, figure_) == 1) return;
  // Names of bins are numbers of positions, which may thin out, as other numbers may.
  const Heatmap& names = grid_.panels[index];
  const bool bins = (are_positions(names.query_labels) && are_positions(names.key_labels)) ||
                    (are_numbers(names.query_labels) && are_numbers(names.key_labels));
  const bool named = !bins && options_.figure.ticks == Ticks::automatic &&
                     (key.ticks == Ticks::automatic || query.ticks == Ticks::automatic);
  if (!named) return;
  names_left_out_ = true;
  axes.x.tick_label_size = axes.y.tick_label_size = usual_size;
  MapTicks numbered = ticks;
  numbered.key.ticks = numbered.query.ticks = Ticks::index;
  set_cell_ticks(axes, numbered, figure_);
}

void GridFigure::draw_panel(Canvas& canvas, std::size_t index) {
  const Panel& panel = panels_[index];
  draw_cells(canvas, panel.axes.box, matrices_[index], panel.colours, figure_.pixels(1));
  panel.draw(canvas, figure_, [&] {
    for (const CellValue& value : panel.values) canvas.text(value.text, value.colour);
  });
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
    bar_.emplace(bar_within(with_height(split.colour_bar, colour_bar_height)),
                 options_.colors.bar_label.value_or(""), scales_[0], figure_.style(), figure_);
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
    const Point anchor = {bounds.middle(), bounds.top - figure_.pixels(tight_title_pad)};
    texts_ =
        placed_lines(figure_.title(*options_.figure.title, title_size, figure_.width()), title_size,
                     anchor, {Horizontal::centre, Vertical::bottom}, figure_.typesetter());
  }
}

void GridFigure::place_as_matplotlib(const std::vector<Box>& places) {
  panels_.clear();
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    const double aspect =
        static_cast<double>(matrices_[i].rows()) / static_cast<double>(matrices_[i].columns());
    Box place = places[i];
    if (each_panel_its_range()) place.right = place.left + share_beside_bar * place.width();
    panels_.push_back(panel_at(with_aspect(place, aspect, 1), i));
    if (!each_panel_its_range() || !options_.colors.bar) continue;
    panels_.back().bar = bar_beside(panels_.back(), places[i].width(), scales_[i]);
  }
}

// Room that the texts of neighbouring panels take between their places, with a margin.
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
