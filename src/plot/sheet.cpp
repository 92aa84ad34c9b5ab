#include "plot/sheet.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/error.hpp"

#include "plot/axes/axes.hpp"
#include "plot/axes/keys.hpp"
#include "support/translated.hpp"

namespace attn::plot {
namespace {

constexpr double sheet_width = 183 / 25.4;                // inches
constexpr double sheet_margin = 0.06;                     // inches; at all four sides
constexpr double gap_beside = 0.16, gap_below = 0.14;     // inches; between panels
constexpr double letter_size = 14, gap_of_letter = 0.03;  // points; inches below the letter
constexpr double gap_of_heading = 0.1;                    // inches below the heading
constexpr double least_letters = 0.5;                     // of ten points
constexpr double narrowest = 0.3;                         // inches of a panel

/// Panels at their places.
class SheetFigure {
 public:
  SheetFigure(const Sheet& sheet, const FigureOptions& options, PictureFormat format)
      : sheet_(sheet),
        options_(options),
        format_(format),
        outer_(options.panel),
        width_(outer_ != nullptr ? outer_->size.first
               : options.figsize ? options.figsize->first
                                 : sheet_width),
        asked_height_(options.figsize && outer_ == nullptr ? options.figsize->second : 0),
        unit_(points_per_inch * Canvas::pixels_per_point(format, options.dpi)) {
    options_.panel = nullptr;
    options_.figsize = {width_, asked_height_ > 0 ? asked_height_ : width_};
    const double scale = outer_ != nullptr ? outer_->font_scale : set_heading();
    for (const std::vector<SheetPanel>& row : sheet.rows) {
      for (Panel& panel : rows_.emplace_back(row.size())) panel.font_scale = scale;
    }
    set_widths();
  }

  // Gives panels their shares of the width that the bar beside them leaves.
  void set_widths() {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const std::vector<SheetPanel>& row = sheet_.rows[r];
      std::vector<Panel>& places = rows_[r];
      double shares = 0;
      for (const SheetPanel& panel : row) shares += panel.share;
      const double room =
          width_ - beside_ - 2 * sheet_margin - gap_beside * static_cast<double>(row.size() - 1);
      for (std::size_t i = 0; i < row.size(); ++i) {
        places[i].size = {room * row[i].share / shares, 0};
        if (places[i].size.first >= narrowest) continue;
        throw Error(ErrorKind::usage,
                    translated("a panel would be {1} mm wide",
                               static_cast<int>(25.4 * std::max(places[i].size.first, 0.0))),
                    "FigureOptions::figsize",
                    translated("ask for a wider figure, or put fewer panels into a row"));
      }
    }
  }

  Picture draw() {
    if (sheet_.one_scale) share_colours();
    if (sheet_.shared_bar && outer_ == nullptr) stand_bar_apart();
    set_heights();
    shrink_to_height();
    name_cells_alike();
    std::vector<double> tops;
    double height = heights_below(tops);
    if (outer_ != nullptr) return in_panel(tops, height);
    if (options_.exact_size && asked_height_ > 0) {
      for (double& top : tops) top += std::max(0.0, (asked_height_ - height) / 2);
      height = asked_height_;
    }
    options_.figsize = {width_, height};
    options_.exact_size = true;
    Figure figure(options_, format_, *options_.figsize);
    figure.describe(sheet_.title, words(&Picture::description));
    if (options_.caption) figure.add_caption(words(&Picture::caption));
    Typesetter letters(unit_ / points_per_inch, Lettering::outlines, figure.family());
    letters.set_bold();
    letters.set_font_scale(scale_);
    Figure beside(options_, format_, *options_.figsize);
    beside.typesetter().set_font_scale(scale_);
    const auto bar = bar_beside(tops, beside);
    Picture picture = figure.sheet([&](Canvas& canvas) {
      for (std::size_t r = 0; r < rows_.size(); ++r) draw_row(r, tops[r], canvas);
      canvas.move({0, 0});
      for (std::size_t r = 0; r < rows_.size(); ++r)
        draw_letters(r, tops[r], canvas, letters, figure);
      if (bar) bar->draw(canvas, beside);
      const Point top{width_ * unit_ / 2, sheet_margin * unit_};
      for (const PlacedText& line : placed_heading(figure, top))
        canvas.text(line, figure.paper().ink);
    });
    add_warnings(picture);
    return picture;
  }

 private:
  // Breaks the heading into lines, and measures them. Returns the scale of a figure's letters.
  double set_heading() {
    Figure figure(options_, format_, *options_.figsize);
    if (!sheet_.heading.empty()) {
      const double room = (width_ - 2 * sheet_margin) * unit_;
      heading_ = lines_of(figure.title(sheet_.heading, title_size, room));
      Box all;
      for (const PlacedText& line : placed_heading(figure, {})) all = united(all, line.bounds);
      heading_height_ = all.height() / unit_ + gap_of_heading;
    }
    return figure.font_scale();
  }

  // The lines of the heading below the middle of its upper edge.
  std::vector<PlacedText> placed_heading(Figure& figure, Point top) const {
    if (heading_.empty()) return {};
    std::vector<const Text*> lines;
    for (const std::string& line : heading_)
      lines.push_back(&figure.typesetter().text(line, title_size));
    return place_lines(lines, figure.typesetter().text("lp", title_size), top,
                       {Horizontal::centre, Vertical::top});
  }

  // The bar of all panels with its key below it.
  struct PlacedBar {
    // Points; the key's is above it.
    static constexpr double bar_width = 11, least_height = 100, most_height = 180, key_gap = 12;

    ColourBar bar;
    std::optional<Legend> key;

    PlacedBar(const BarAndKey& of, Point corner, double height, Figure& figure)
        : bar({corner.x, corner.y, corner.x + figure.pixels_beside_text(bar_width),
               corner.y + height},
              figure.label(of.label, Axis().label_size, height), of.scale, figure.style(), figure) {
      if (of.key.empty()) return;
      key.emplace(of.key, Point{corner.x, bar.bounds().bottom + figure.pixels(key_gap)}, figure);
    }
    Box bounds() const { return key ? united(bar.bounds(), key->bounds()) : bar.bounds(); }
    void draw(Canvas& canvas, const Figure& figure) const {
      bar.draw(canvas, figure);
      if (key) key->draw(canvas, figure);
    }
  };

  // Takes the bars of heatmaps whose colours mean the same out of their panels, and makes room for
  // one beside all.
  void stand_bar_apart() {
    each_panel();
    for (std::vector<Panel>& row : rows_) {
      for (Panel& panel : row) {
        if (!panel.bar || panel.signed_alone) continue;
        panel.bar_apart = !bar_ || bar_->means_as(*panel.bar);
        if (!bar_) {
          bar_ = *panel.bar;
        } else if (panel.bar_apart) {
          bar_->take(*panel.bar);
        }
      }
    }
    if (!bar_) return;
    Figure figure(options_, format_, *options_.figsize);
    figure.typesetter().set_font_scale(rows_[0][0].font_scale);
    const PlacedBar bar(*bar_, {}, figure.pixels(PlacedBar::least_height), figure);
    beside_ = bar.bounds().width() / unit_ + gap_beside;
    set_widths();
  }

  // The bar at the middle of the height of all panels.
  std::optional<PlacedBar> bar_beside(const std::vector<double>& tops, Figure& figure) const {
    if (!bar_) return std::nullopt;
    const double top = tops.front() * unit_;
    const double room = (tops.back() + height_of(rows_.size() - 1)) * unit_ - top;
    const double height = std::min(0.6 * room, figure.pixels(PlacedBar::most_height));
    const double left = (width_ - sheet_margin - beside_ + gap_beside) * unit_;
    const double taken = PlacedBar(*bar_, {left, top}, height, figure).bounds().height();
    return PlacedBar(*bar_, {left, top + std::max(0.0, (room - taken) / 2)}, height, figure);
  }

  // Sets the top of each row. Returns the height of all.
  double heights_below(std::vector<double>& tops) const {
    double height = sheet_margin + heading_height_;
    tops.clear();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      tops.push_back(height + letters_of(r));
      height = tops.back() + height_of(r) + (r + 1 < rows_.size() ? gap_below : sheet_margin);
    }
    return height;
  }

  // Makes panels narrower until all rows have room in the height that was asked for.
  void shrink_to_height() {
    if (!(asked_height_ > 0)) return;
    constexpr int most_steps = 8;
    constexpr double least_step = 0.97, most_step = 0.6;
    std::vector<double> tops;
    for (int step = 0; step < most_steps; ++step) {
      const double height = heights_below(tops);
      if (height <= asked_height_) return;
      const double factor = std::clamp(asked_height_ / height, most_step, least_step);
      for (std::vector<Panel>& row : rows_) {
        for (Panel& panel : row) panel.size = {std::max(factor * panel.size.first, narrowest), 0};
      }
      set_heights();
    }
    too_high_ = options_.exact_size && heights_below(tops) > asked_height_;
  }

  // Inches left of a row, which is in the middle of the sheet.
  double left_of(std::size_t row) const {
    double width = gap_beside * static_cast<double>(rows_[row].size() - 1);
    for (const Panel& panel : rows_[row]) width += panel.size.first;
    return std::max(sheet_margin, (width_ - beside_ - width) / 2);
  }

  // A sheet that is a panel itself, without letters.
  Picture in_panel(const std::vector<double>& tops, double height) {
    outer_->width = width_ * unit_;
    outer_->height = height * unit_;
    outer_->fitted_scale = scale_;
    for (std::size_t r = 0; outer_->canvas != nullptr && r < rows_.size(); ++r)
      draw_row(r, tops[r], *outer_->canvas, outer_->corner);
    Picture picture;
    picture.description = words(&Picture::description);
    picture.caption = words(&Picture::caption);
    add_warnings(picture);
    return picture;
  }

  void add_warnings(Picture& picture) const {
    if (too_high_) {
      picture.warnings.push_back(
          translated("the panels do not fit into the height of the figure: put fewer rows into it, "
                     "or ask for a higher one"));
    }
    if (outer_ == nullptr) {
      if (auto warning = limited_letters(options_.font_size, scale_))
        picture.warnings.push_back(*warning);
    }
    const bool any_names = std::ranges::any_of(rows_, [](const std::vector<Panel>& row) {
      return std::ranges::any_of(row, [](const Panel& panel) { return panel.names == true; });
    });
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      for (std::size_t i = 0; i < rows_[r].size(); ++i) {
        const std::string& name = sheet_.rows[r][i].name;
        if (any_names && rows_[r][i].names == false && !name.empty()) {
          picture.warnings.push_back(translated(
              "panel {1} has no room for the names of its tokens, unlike others: put fewer "
              "panels into its row, or give it more \"width\"",
              name));
        }
        for (const std::string& warning : drawn_[r][i].warnings) {
          if (std::ranges::count(picture.warnings, warning) == 0)
            picture.warnings.push_back(warning);
        }
      }
    }
  }

  // Leaves out remarks on cells where not all heatmaps have some.
  void name_cells_alike() {
    bool all = true;
    for (const std::vector<Panel>& row : rows_) {
      for (const Panel& panel : row) all = all && panel.cells_named.value_or(true);
    }
    for (std::vector<Panel>& row : rows_) {
      for (Panel& panel : row) panel.names_cells = all;
    }
  }

  // Draws, or measures, all panels of the sheet.
  void each_panel(const std::function<void(Panel&)>& before = {}) {
    drawn_.resize(rows_.size());
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      drawn_[r].resize(rows_[r].size());
      for (std::size_t i = 0; i < rows_[r].size(); ++i) {
        if (before) before(rows_[r][i]);
        drawn_[r][i] = sheet_.rows[r][i].draw(rows_[r][i], colours_of(rows_[r][i]));
      }
    }
  }

  // The range that a panel's colours are spread over: differences, which have two signs, keep
  // theirs beside weights, so that zero stays white.
  std::optional<Interval> colours_of(const Panel& panel) const {
    return panel.signed_alone ? std::nullopt : colours_;
  }

  // The range of all bars.
  void share_colours() {
    each_panel();
    const auto is_signed = [](const Panel& panel) {
      return panel.colours && panel.colours->low < 0;
    };
    const bool all_signed = std::ranges::all_of(rows_, [&](const std::vector<Panel>& row) {
      return std::ranges::all_of(
          row, [&](const Panel& panel) { return !panel.colours || is_signed(panel); });
    });
    std::optional<Interval> all;
    for (std::vector<Panel>& row : rows_) {
      for (Panel& panel : row) {
        panel.signed_alone = !all_signed && is_signed(panel);
        if (!panel.colours || panel.signed_alone) continue;
        const Interval own = *panel.colours;
        all = all ? Interval{std::min(all->low, own.low), std::max(all->high, own.high)} : own;
      }
    }
    colours_ = all;
  }

  // One size of letters: the smallest that a panel asks for, but no smaller than can be read. Then
  // panels that fill the room which they get are as high as the highest of their row.
  void set_heights() {
    each_panel([](Panel& panel) { panel.widest_map = 0; });
    scale_ = rows_[0][0].font_scale;
    for (const std::vector<Panel>& row : rows_) {
      for (const Panel& panel : row)
        scale_ = std::min(scale_, std::max(panel.fitted_scale, least_letters));
    }
    if (scale_ < rows_[0][0].font_scale) {
      each_panel([&](Panel& panel) { panel.font_scale = scale_; });
    }
    double all =
        2 * sheet_margin + heading_height_ + gap_below * static_cast<double>(rows_.size() - 1);
    std::vector<double> heights;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      heights.push_back(height_of(r));
      all += letters_of(r);
    }
    double sum = 0;
    for (const double height : heights) sum += height;
    const double factor = asked_height_ > all ? (asked_height_ - all) / sum : 1;
    const std::vector<std::vector<Panel>> free = rows_;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      for (Panel& panel : rows_[r]) {
        if (factor == 1 && panel.follows_content) continue;
        panel.size.second = factor * heights[r];
      }
    }
    each_panel();
    // A height that would cost a panel its names or its letters' size is not kept.
    bool any = false;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      for (std::size_t i = 0; i < rows_[r].size(); ++i) {
        Panel& panel = rows_[r][i];
        const bool worse =
            panel.left_out > free[r][i].left_out || panel.fitted_scale < free[r][i].fitted_scale;
        if (!worse) continue;
        panel.size.second = 0;
        any = true;
      }
    }
    if (any) each_panel();
    if (sheet_.equal_maps) equal_maps();
  }

  // Gives maps of as many cells, in panels as wide, the size of the smallest of them, whatever keys
  // and numbers the others have beside them.
  void equal_maps() {
    const std::vector<std::vector<Panel>> measured = rows_;
    each_panel([&](Panel& panel) {
      if (!panel.map) return;
      const Panel::Map own = *panel.map;
      panel.widest_map = own.width;
      for (const std::vector<Panel>& row : measured) {
        for (const Panel& other : row) {
          constexpr double same = 1e-6;  // inches
          const bool alike = other.map && other.map->rows == own.rows &&
                             other.map->columns == own.columns &&
                             std::abs(other.size.first - panel.size.first) < same;
          if (alike) panel.widest_map = std::min(panel.widest_map, other.map->width);
        }
      }
    });
  }

  // Inches.
  double height_of(std::size_t row) const {
    double height = 0;
    for (const Panel& panel : rows_[row]) height = std::max(height, panel.height / unit_);
    return height;
  }
  double letters_of(std::size_t row) const {
    const auto& panels = sheet_.rows[row];
    const bool any = std::ranges::any_of(panels, [](const auto& p) { return !p.letter.empty(); });
    return any ? letter_size * scale_ / points_per_inch + gap_of_letter : 0;
  }

  void draw_row(std::size_t row, double top, Canvas& canvas, Point corner = {}) {
    double left = left_of(row);
    for (std::size_t i = 0; i < rows_[row].size(); ++i) {
      Panel& panel = rows_[row][i];
      panel.canvas = &canvas;
      panel.corner = {corner.x + left * unit_, corner.y + top * unit_};
      drawn_[row][i] = sheet_.rows[row][i].draw(panel, colours_of(panel));
      panel.canvas = nullptr;
      left += panel.size.first + gap_beside;
    }
  }

  void draw_letters(std::size_t row, double top, Canvas& canvas, Typesetter& letters,
                    const Figure& figure) const {
    double left = left_of(row);
    for (std::size_t i = 0; i < rows_[row].size(); ++i) {
      const std::string& letter = sheet_.rows[row][i].letter;
      const Point corner = {left * unit_, (top - letters_of(row)) * unit_};
      if (!letter.empty()) {
        canvas.text(
            place(letters.text(letter, letter_size), corner, {Horizontal::left, Vertical::top}),
            figure.paper().ink);
      }
      left += rows_[row][i].size.first + gap_beside;
    }
  }

  // "a: …; b: …" of what panels say.
  std::string words(std::string Picture::*what) const {
    std::string all;
    for (std::size_t r = 0; r < drawn_.size(); ++r) {
      for (std::size_t i = 0; i < drawn_[r].size(); ++i) {
        const std::string& own = drawn_[r][i].*what;
        if (own.empty()) continue;
        const std::string& letter = sheet_.rows[r][i].letter;
        all += (all.empty() ? "" : " ") + (letter.empty() ? own : letter + ", " + own);
      }
    }
    return all;
  }

  const Sheet& sheet_;
  FigureOptions options_;
  PictureFormat format_;
  Panel* outer_;
  double width_, asked_height_;       // inches
  double unit_;                       // pixels per inch
  double scale_ = 1;                  // of letters
  std::vector<std::string> heading_;  // its lines
  double heading_height_ = 0;         // inches, with the gap below it
  bool too_high_ = false;             // whether panels cannot be narrow enough for the height
  std::optional<Interval> colours_;
  std::optional<BarAndKey> bar_;  // of all panels
  double beside_ = 0;             // inches right of the panels that the bar takes, with the gap
  std::vector<std::vector<Panel>> rows_;
  std::vector<std::vector<Picture>> drawn_;
};

}  // namespace

Picture draw_sheet(const Sheet& sheet, const FigureOptions& options, PictureFormat format) {
  return SheetFigure(sheet, options, format).draw();
}

}  // namespace attn::plot
