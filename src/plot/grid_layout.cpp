#include <algorithm>
#include <array>

#include "plot/grid.hpp"
#include "support/translated.hpp"

// The standard style: texts first, and all the room that is left to the panels.

namespace attn::plot {
namespace {

constexpr double grid_panel_gap = 6;   // points between the texts of neighbouring panels
constexpr double gap_share = 0.12;     // of a panel's width, at most
constexpr double grid_text_gap = 4;    // points between the lines of texts around the panels
constexpr double grid_bar_gap = 10;    // points between panels and colour bar
constexpr double grid_key_gap = 12;    // points above the key of the colours
constexpr double grid_title_pad = 8;   // points below the title of the whole figure
constexpr double grid_bar_width = 11;  // points, of large figures
constexpr double bar_share = 0.6;      // of the height of several rows of panels
constexpr double row_title_size = 10, outer_label_size = 11, group_size = 10;  // points
constexpr double least_row_title =
    5;                                // points; shorter rows have the numbers of their titles alone
constexpr double level_gap = 8;       // points between these and the numbers of queries
constexpr double bracket_foot = 3;    // points
constexpr double least_panels = 0.3;  // of the area that the panels would have without texts
constexpr std::array grid_order = {Part::axis_labels, Part::tick_labels, Part::captions,
                                   Part::title};
constexpr int passes = 3;  // until panels and texts have found their sizes

// The words before the numbers of titles that differ in nothing else, "Head " of "Head 1" and
// "Head 2"; empty if there are none.
std::string common_prefix(const std::vector<std::string>& titles) {
  if (titles.size() < 2) return "";
  const std::size_t space = titles[0].rfind(' ');
  if (space == std::string::npos) return "";
  const std::string prefix = titles[0].substr(0, space + 1);
  const auto is_numbered = [&](const std::string& title) {
    return title.size() > prefix.size() && title.starts_with(prefix) &&
           title.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
  };
  return std::all_of(titles.begin(), titles.end(), is_numbered) ? prefix : "";
}

}  // namespace

void GridFigure::lay_out() {
  figure_.fit(grid_order, [this](const Shown& shown) { return lay_out(shown); });
}

// Whether the texts leave the panels enough room.
bool GridFigure::lay_out(const Shown& shown) {
  shown_ = shown;
  names_left_out_ = false;
  column_prefix_.clear();
  row_prefix_.clear();
  column_title_size_ = Axes().title_size;
  const auto columns = static_cast<double>(grid_.columns), rows = static_cast<double>(grid_.rows);
  const double width = figure_.width(), height = figure_.height();
  double aspect = 0;
  for (const Matrix& matrix : matrices_) {
    aspect = std::max(aspect, aspect_of(matrix.rows(), matrix.columns()));
  }
  Room room;
  room.around = {0.1 * width, 0.1 * height, 0.1 * width, 0.1 * height};
  Box first;
  for (int pass = 0; pass <= passes; ++pass) {
    const Box& around = room.around;
    first.left = around.left;
    first.top = around.top;
    double across =
        (width - around.left - around.right - (columns - 1) * room.gaps.across) / columns;
    double down = (height - around.top - around.bottom - (rows - 1) * room.gaps.down) / rows;
    across = std::max(across, 1.0);
    down = std::max(down, 1.0);
    const Box square = with_aspect({0, 0, across, down}, aspect, 0);
    across = square.width();
    down = square.height();
    first.right = first.left + across;
    first.bottom = first.top + down;
    if (pass == passes) break;
    if (pass > 0) fit_titles(first, room.gaps);
    place_panels(first, room.gaps);
    room = room_taken();
  }
  place_panels(first, room.gaps);
  const Box panels = {first.left, first.top,
                      first.left + columns * first.width() + (columns - 1) * room.gaps.across,
                      first.top + rows * first.height() + (rows - 1) * room.gaps.down};
  add_around(panels);
  const Box all = all_bounds();
  constexpr double beyond = 1.01;
  const bool keeps_size = all.width() <= beyond * width && all.height() <= beyond * height;
  // Against panels with square cells that had the whole figure.
  const double grid_aspect = aspect * rows / columns;
  const double widest_grid = std::min(width, height / grid_aspect);
  const double area = rows * first.height() * columns * first.width();
  const bool large = area >= least_panels * widest_grid * widest_grid * grid_aspect;
  const double widest = first.width() + room.gaps.across;
  const auto titles = column_titles();
  const bool titled = std::all_of(titles.begin(), titles.end(), [&](const std::string& title) {
    const std::string own = title.substr(column_prefix_.size());
    const std::size_t space = own.find(' ');
    return figure_.typesetter().text(own.substr(0, space), column_title_size_).width <= widest;
  });
  return keeps_size && large && titled;
}

// Titles that differ in their numbers alone give their word up where they have no room beside
// panels of that size, and get smaller.
void GridFigure::fit_titles(const Box& panel, const Gaps& gaps) {
  const double across = panel.width(), down = panel.height();
  const auto fits = [&](const std::vector<std::string>& titles, double size, double length) {
    return std::all_of(titles.begin(), titles.end(), [&](const std::string& title) {
      return figure_.typesetter().text(title, size).width <= length;
    });
  };
  const std::vector<std::string> titles = column_titles();
  if (!fits(titles, Axes().title_size, across + gaps.across))
    column_prefix_ = common_prefix(titles);
  std::vector<std::string> shortest = titles;
  for (std::string& title : shortest) title.erase(0, column_prefix_.size());
  column_title_size_ = Axes().title_size;
  while (!column_prefix_.empty() && column_title_size_ * figure_.font_scale() > least_row_title &&
         !fits(shortest, column_title_size_, across))
    --column_title_size_;
  row_title_size_ = row_title_size;
  while (row_title_size_ * figure_.font_scale() > least_row_title &&
         !fits(grid_.row_titles, row_title_size_, down + gaps.down)) {
    --row_title_size_;
  }
  if (!fits(grid_.row_titles, row_title_size_, down + gaps.down))
    row_prefix_ = common_prefix(grid_.row_titles);
}

// Titles that stand once above each column; none where panels have titles of their own.
std::vector<std::string> GridFigure::column_titles() const {
  for (std::size_t i = grid_.columns; i < titles_.size(); ++i) {
    if (!titles_[i].empty()) return {};
  }
  const std::size_t count = std::min(grid_.columns, titles_.size());
  return {titles_.begin(), titles_.begin() + static_cast<std::ptrdiff_t>(count)};
}

void GridFigure::place_panels(const Box& first, const Gaps& gaps) {
  panels_.clear();
  places_.clear();
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    const std::size_t column = i % grid_.columns, row = i / grid_.columns;
    const Box place = first.moved(static_cast<double>(column) * (first.width() + gaps.across),
                                  static_cast<double>(row) * (first.height() + gaps.down));
    places_.push_back(place);
    const double aspect = aspect_of(matrices_[i].rows(), matrices_[i].columns());
    const Box box = grid_.own_axes ? with_aspect(place, aspect, 0.5) : place;
    panels_.push_back(panel_at(box, i));
    if (!each_panel_its_range() || !options_.colors.bar) continue;
    panels_.back().bar = bar_beside(panels_.back(), box.width() * 1.25, scales_[i]);
  }
}

GridFigure::Room GridFigure::room_taken() {
  const double margin =
      std::min(figure_.pixels_beside_text(grid_panel_gap), gap_share * panels_[0].axes.box.width());
  Room room;
  room.gaps = {margin, margin};
  Box& around = room.around;
  for (std::size_t i = 0; i < panels_.size(); ++i) {
    const Box box = places_[i], texts = panels_[i].bounds();
    const std::size_t right = i + 1, below = i + grid_.columns;
    if (right % grid_.columns != 0 && right < panels_.size()) {
      room.gaps.across = std::max(room.gaps.across, texts.right - box.right + places_[right].left -
                                                        panels_[right].bounds().left + margin);
    } else {
      around.right = std::max(around.right, texts.right - box.right);
    }
    if (below < panels_.size()) {
      room.gaps.down = std::max(room.gaps.down, texts.bottom - box.bottom + places_[below].top -
                                                    panels_[below].bounds().top + margin);
    } else {
      around.bottom = std::max(around.bottom, texts.bottom - box.bottom);
    }
    if (i % grid_.columns == 0) around.left = std::max(around.left, box.left - texts.left);
    if (i < grid_.columns) around.top = std::max(around.top, box.top - texts.top);
  }
  // Texts farther out are measured by setting them.
  const Box& corner = places_[std::min(grid_.columns, places_.size()) - 1];
  const Box panels = {places_[0].left, places_[0].top, corner.right, places_.back().bottom};
  add_around(panels);
  const Box all = all_bounds();
  around = {std::max(around.left, panels.left - all.left),
            std::max(around.top, panels.top - all.top),
            std::max(around.right, all.right - panels.right),
            std::max(around.bottom, all.bottom - panels.bottom)};
  return room;
}

// Everything that the panels have in common.
void GridFigure::add_around(const Box& panels) {
  Typesetter& typesetter = figure_.typesetter();
  const double gap = figure_.pixels(grid_text_gap);
  texts_.clear();
  brackets_.clear();
  bar_.reset();
  key_.reset();
  const auto add = [&](const std::string& text, double size, Point anchor,
                       const Alignment& alignment) {
    if (text.empty()) return Box{anchor.x, anchor.y, anchor.x, anchor.y};
    return add_lines(texts_, text, size, anchor, alignment, typesetter);
  };
  Box texts = panels;
  for (const Panel& panel : panels_) texts = united(texts, panel.bounds());

  const bool upwards = options_.figure.keys_upwards;
  if (shown_(Part::axis_labels)) {
    const std::string below = figure_.label(
        options_.figure.xlabel.value_or(upwards ? translated("Query") : translated("Key")),
        outer_label_size, panels.width());
    texts.bottom = add(below, outer_label_size, {panels.middle(), texts.bottom + gap},
                       {Horizontal::centre, Vertical::top})
                       .bottom;
  }
  add_row_titles(panels, texts.left - gap);
  if (!texts_.empty()) texts.left = std::min(texts.left, bounds_of(texts_).left);
  if (shown_(Part::axis_labels)) {
    const std::string beside = figure_.label(
        options_.figure.ylabel.value_or(upwards ? translated("Key") : translated("Query")),
        outer_label_size, panels.height());
    texts.left = add(beside, outer_label_size, {texts.left - gap, panels.centre()},
                     {Horizontal::centre, Vertical::bottom, 90, true})
                     .left;
  }
  const auto above = [&](const std::string& text, double size, double pad) {
    if (text.empty()) return;
    texts.top =
        add(text, size, {panels.middle(), texts.top - pad}, {Horizontal::centre, Vertical::bottom})
            .top;
  };
  std::string prefix = column_prefix_;
  if (prefix.ends_with(' ')) prefix.pop_back();
  above(prefix, column_title_size_, gap);
  add_brackets(texts.top - gap);
  if (!texts_.empty()) texts.top = std::min(texts.top, bounds_of(texts_).top);
  if (options_.colors.bar || !key_entries_.empty()) {
    add_bar(panels, texts.right + figure_.pixels_beside_text(grid_bar_gap));
  }
  if (options_.figure.title && !options_.figure.title->empty() && shown_(Part::title)) {
    const Box all = all_bounds();
    const std::string title = figure_.title(*options_.figure.title, title_size, figure_.width());
    add_lines(texts_, title, title_size, {all.middle(), texts.top - figure_.pixels(grid_title_pad)},
              {Horizontal::centre, Vertical::bottom}, typesetter);
  }
}

void GridFigure::add_row_titles(const Box& panels, double right) {
  if (grid_.row_titles.empty()) return;
  Typesetter& typesetter = figure_.typesetter();
  if (!row_prefix_.empty()) right -= figure_.pixels(level_gap);
  double left = right;
  for (std::size_t row = 0; row < grid_.row_titles.size(); ++row) {
    const std::size_t index = row * grid_.columns;
    if (index >= panels_.size()) break;
    const Box& box = panels_[index].axes.box;
    const std::string title = grid_.row_titles[row].substr(row_prefix_.size());
    const bool level = !row_prefix_.empty();
    const Box lines =
        add_lines(texts_, level ? title : figure_.title(title, row_title_size_, box.height()),
                  row_title_size_, {right, box.centre()},
                  level ? Alignment{Horizontal::right, Vertical::centre_of_capitals}
                        : Alignment{Horizontal::centre, Vertical::bottom, 90, true},
                  typesetter);
    left = std::min(left, lines.left);
  }
  if (row_prefix_.empty()) return;
  const std::string word = row_prefix_.substr(0, row_prefix_.size() - 1);
  texts_.push_back(place(typesetter.text(word, row_title_size_),
                         {left - figure_.pixels(grid_text_gap), panels.centre()},
                         {Horizontal::centre, Vertical::bottom, 90, true}));
}

// A bracket above the columns of each group, its name in the middle.
void GridFigure::add_brackets(double bottom) {
  const std::size_t size = grid_.columns_a_group;
  if (size < 2 || grid_.columns % size != 0) return;
  const double foot = figure_.pixels(bracket_foot);
  for (std::size_t first = 0; first + size <= std::min(grid_.columns, panels_.size());
       first += size) {
    const double left = panels_[first].axes.box.left;
    const double right = panels_[first + size - 1].axes.box.right;
    const double top = bottom - foot;
    brackets_.push_back({{left, top}, right - left, 0});
    brackets_.push_back({{left, top}, 0, foot});
    brackets_.push_back({{right, top}, 0, foot});
    const std::size_t group = first / size;
    if (group >= grid_.group_titles.size()) continue;
    add_lines(texts_, figure_.title(grid_.group_titles[group], group_size, right - left),
              group_size, {(left + right) / 2, top - figure_.pixels(grid_text_gap) / 2},
              {Horizontal::centre, Vertical::bottom}, figure_.typesetter());
  }
}

// The bar right of the panels, at their middle, and the key of what has no colour on it below.
void GridFigure::add_bar(const Box& panels, double left) {
  Point corner = {left, panels.top};
  if (options_.colors.bar && !each_panel_its_range()) {
    const double key_height = key_entries_.empty() ? 0
                                                   : Legend::height(key_entries_.size(), figure_) +
                                                         figure_.pixels(grid_key_gap);
    double half = (grid_.rows == 1 ? 1 : bar_share) * panels.height() / 2;
    half = std::max(half - key_height / 2, panels.height() / 8);
    const double middle = panels.centre() - key_height / 2;
    const double width = std::min(figure_.pixels(grid_bar_width), 0.03 * figure_.width());
    const bool any_numbers = std::any_of(grid_.panels.begin(), grid_.panels.end(),
                                         [](const Heatmap& panel) { return panel.any_numbers; });
    std::string label =
        options_.colors.bar_label.value_or(usual_bar_label(scales_[0], any_numbers, figure_));
    const Panel& first = panels_[0];
    const std::string note = colour_note(matrices_[0], first.axes.box, first.colours, figure_);
    if (!note.empty()) label += (label.empty() ? "(" : "\n(") + note + ")";
    // A label of few rows that is longer than its bar looks misplaced; of many it would take more
    // lines, and the panels' room.
    const double label_length = grid_.rows <= 2 ? 2 * half : panels.height();
    label = shown_(Part::axis_labels)
                ? fitted_bar_label(label, !options_.colors.bar_label, label_length, figure_)
                : "";
    bar_.emplace(Box{left, middle - half, left + width, middle + half}, label, scales_[0],
                 figure_.style(), figure_);
    corner.y = bar_->bounds().bottom + figure_.pixels(grid_key_gap);
  }
  if (key_entries_.empty()) return;
  key_.emplace(as_drawn(key_entries_, panels_[0].axes.box, matrices_[0], figure_), corner, figure_);
}

}  // namespace attn::plot
