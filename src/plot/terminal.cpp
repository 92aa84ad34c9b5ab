#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "plot/axes/axes.hpp"
#include "plot/cells/cells.hpp"
#include "plot/colour/colour.hpp"
#include "plot/numbers/matrix.hpp"
#include "plot/numbers/ticks.hpp"
#include "plot/terminal_text.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace plot::terminal {
namespace {

constexpr const char* default_title = to_translate("Attention Weight Heatmap");
constexpr const char* axes_text = to_translate("; rows: queries, columns: keys");
constexpr const char* plain_axes_text = to_translate("; rows: positions, columns: dimensions");
constexpr std::string_view shades = ".:-=+*#%@";  // from the smallest value to the largest
constexpr std::string_view upper_half = "▀", lower_half = "▄";
// Values without a place on the scale, in the order of ColourMap::apart.
struct Apart {
  double value;
  const char* name;
  char shade;
};
constexpr std::array<Apart, 3> all_apart{
    {{std::numeric_limits<double>::quiet_NaN(), "NaN", '?'},
     {-std::numeric_limits<double>::infinity(), "\u2212\u221e", 'v'},
     {std::numeric_limits<double>::infinity(), "\u221e", '^'}}};
constexpr std::size_t least_columns = 20, least_lines = 4;
constexpr std::size_t widest_label = 14, most_turned_lines = 10;
constexpr std::size_t widest_value = 8;
constexpr int digits_of_ends = 4;          // of the smallest and the largest value
constexpr std::size_t longest_scale = 27;  // columns; three a shade
constexpr std::size_t lines_below =
    4;  // the scale, a remark of two lines, and the prompt that follows

std::string repeated(std::string_view text, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

std::string in_the_middle(std::string_view text, std::size_t width) {
  const std::size_t own = display_width(text), left = (width - own) / 2;
  return padded_right(std::string(left, ' ') + std::string(text), width);
}

// A number at an end of the scale.
std::string end_text(double value) {
  return with_minus_signs(with_digits(value, digits_of_ends));
}

std::size_t apart_index(double value) {
  return std::isnan(value) ? 0 : value < 0 ? 1 : 2;
}

ColourScale scale_of(const Matrix& matrix, const Heatmap& heatmap, const TerminalOptions& options) {
  ColorOptions colours;
  colours.cmap = options.cmap;
  colours.norm.kind = ColorNorm::Kind::linear;
  FigureOptions alone;
  alone.threads = 1;
  return colour_scale({&matrix, 1}, !heatmap.any_numbers, colours, alone);
}

std::vector<std::string> all_printable(const std::vector<std::string>& strings) {
  std::vector<std::string> result;
  result.reserve(strings.size());
  for (const std::string& string : strings) result.push_back(printable(string));
  return result;
}

// One cell as a terminal shows it: a weight, or the largest of several.
struct TerminalCell {
  double value = 0;     // infinite or NaN if no cell under it holds a finite number
  bool hidden = false;  // by a mask, with all cells under it
};

constexpr double infinity = std::numeric_limits<double>::infinity();

TerminalCell largest(const Matrix& matrix, const PixelShares& down, const PixelShares& across) {
  double most = -infinity, infinite = 0;
  bool any_seen = false, any_finite = false;
  for (std::size_t k = 0; k < down.shares.size(); ++k) {
    for (std::size_t m = 0; m < across.shares.size(); ++m) {
      const std::size_t row = down.first + k, column = across.first + m;
      const bool covered = down.shares[k] * across.shares[m] > 0;
      if (!covered || !matrix.shown(row, column)) continue;
      any_seen = true;
      const double value = matrix.at(row, column);
      if (std::isinf(value)) infinite = value;
      if (!std::isfinite(value)) continue;
      most = std::max(most, value);
      any_finite = true;
    }
  }
  if (!any_seen) return {0, true};
  if (any_finite) return {most, false};
  return {infinite != 0 ? infinite : std::numeric_limits<double>::quiet_NaN(), false};
}

// A matrix reduced to at most `most_rows` × `most_columns` cells.
class TerminalCells {
 public:
  TerminalCells(const Matrix& matrix, std::size_t most_rows, std::size_t most_columns)
      : rows_(std::min(matrix.rows(), most_rows)),
        columns_(std::min(matrix.columns(), most_columns)),
        range_{infinity, -infinity} {
    const auto down = pixel_shares(matrix.rows(), rows_, Resampling::mean);
    const auto across = pixel_shares(matrix.columns(), columns_, Resampling::mean);
    cells_.reserve(rows_ * columns_);
    for (const PixelShares& row : down) {
      for (const PixelShares& column : across) {
        const TerminalCell& cell = cells_.emplace_back(largest(matrix, row, column));
        has_hidden_ = has_hidden_ || cell.hidden;
        has_nan_ = has_nan_ || std::isnan(cell.value);
        has_infinity_ = has_infinity_ || cell.value == infinity;
        has_minus_infinity_ = has_minus_infinity_ || cell.value == -infinity;
        if (cell.hidden || !std::isfinite(cell.value)) continue;
        range_.low = std::min(range_.low, cell.value);
        range_.high = std::max(range_.high, cell.value);
      }
    }
  }

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  const TerminalCell& at(std::size_t row, std::size_t column) const {
    return cells_[row * columns_ + column];
  }

  bool has_hidden() const { return has_hidden_; }
  bool has_nan() const { return has_nan_; }
  bool has_infinity(bool negative) const { return negative ? has_minus_infinity_ : has_infinity_; }
  // The range of finite values that are shown; low > high if there are none.
  Interval range() const { return range_; }

 private:
  std::size_t rows_, columns_;
  std::vector<TerminalCell> cells_;
  bool has_hidden_ = false, has_nan_ = false, has_infinity_ = false, has_minus_infinity_ = false;
  Interval range_;
};

// Number and size of the cells.
struct Layout {
  std::size_t rows = 0, columns = 0;  // cells
  std::size_t width = 1;              // columns of the terminal a cell
  std::size_t cells_a_line = 1;       // 2: each cell is half a line high
  bool values = false;                // whether each cell's value is written into it
  bool shades = true;                 // whether colours or characters tell the values
};

class TerminalHeatmap {
 public:
  TerminalHeatmap(const Heatmap& heatmap, const TerminalOptions& options)
      : options_(options),
        matrix_(heatmap, "weights"),
        scale_(scale_of(matrix_, heatmap, options)),
        format_(fitting_format({&matrix_, 1}, scale_.range, scale_.norm)),
        columns_(std::max(options.columns, least_columns)),
        labels_(shown_labels(heatmap, {})),
        queries_{all_printable(labels_or(labels_.query, "Q_", matrix_.rows(), heatmap.first_query,
                                         heatmap.first_number)),
                 !heatmap.query_labels.empty(), 0},
        keys_{all_printable(labels_or(labels_.key, "K_", matrix_.columns(), heatmap.first_key,
                                      heatmap.first_number)),
              !heatmap.key_labels.empty(), 0},
        gutter_(widest(queries_.labels, std::min(widest_label, columns_ / 4)) + 1),
        title_(title_lines(heatmap.title,
                           translated(heatmap.of_positions ? plain_axes_text : axes_text))) {}

  std::string draw() {
    Layout layout = layout_below(1);
    std::vector<std::string> header = header_of(layout);
    if (header.size() > 1) {
      layout = layout_below(header.size());
      header = header_of(layout);
    }
    const TerminalCells cells(matrix_, layout.rows, layout.columns);
    // Means have the range of the values shown, as in pictures.
    if (averaged(layout) && cells.range().low <= cells.range().high) {
      narrow_to_shown(scale_.range, cells.range(), scale_.least_end);
    }
    std::string text;
    for (const std::string& line : title_) text += line + "\n";
    for (const std::string& line : header) {
      TerminalLine above(options_.colors);
      above.add(std::string(gutter_, ' ') + line);
      text += above.finished();
    }
    queries_.shown = layout.rows;
    const std::vector<std::string> labels = query_labels(queries_, layout.cells_a_line);
    for (std::size_t line = 0; line < labels.size(); ++line) {
      TerminalLine drawn(options_.colors);
      drawn.add(padded_right(attn::shortened(labels[line], gutter_ - 1), gutter_));
      for (std::size_t column = 0; column < layout.columns; ++column) {
        if (layout.cells_a_line == 2) {
          add_halves(drawn, cells, 2 * line, column, layout.width);
        } else {
          add_cell(drawn, cells.at(line, column), layout);
        }
      }
      text += drawn.finished();
    }
    return text + scale(cells, layout) + remark(layout);
  }

 private:
  std::vector<std::string> title_lines(const std::string& title, const std::string& axes) const {
    std::vector<std::string> lines;
    const std::string whole = title.empty() ? translated(default_title) : title;
    std::string_view rest = whole;
    for (std::size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
      lines.push_back(attn::shortened(printable(rest.substr(0, end)), columns_));
      rest.remove_prefix(end + 1);
    }
    const std::string last = printable(rest);
    const bool fits = display_width(last + axes) <= columns_;
    lines.push_back(attn::shortened(fits ? last + axes : last, columns_));
    return lines;
  }

  std::size_t room() const { return columns_ - gutter_; }

  // The widest value, or 0 if one is too wide to be written into a cell.
  std::size_t value_width() const {
    std::size_t width = 0;
    for (std::size_t row = 0; row < matrix_.rows(); ++row) {
      for (std::size_t column = 0; column < matrix_.columns(); ++column) {
        if (matrix_.hidden(row, column)) continue;
        const double value = matrix_.at(row, column);
        width = std::max(width, display_width(number_text(value)));
        if (width > widest_value) return 0;
      }
    }
    return width;
  }

  // Each cell has a line of its own if they fit so and are at least as wide as half a line is
  // high, or are few.
  Layout layout_below(std::size_t header) const {
    const bool coloured = options_.colors != TerminalColors::none;
    const std::size_t around = title_.size() + header + lines_below;
    const std::size_t lines = options_.lines == 0 ? std::max(columns_ / 2, least_lines)
                              : options_.lines > around + least_lines ? options_.lines - around
                                                                      : least_lines;
    Layout layout;
    layout.columns = std::min(matrix_.columns(), room());
    const std::size_t widest_cell = room() / layout.columns;
    const bool roomy = matrix_.rows() <= lines && (widest_cell >= 2 || 2 * matrix_.rows() <= lines);
    layout.cells_a_line = coloured && !roomy ? 2 : 1;
    layout.rows = std::min(matrix_.rows(), layout.cells_a_line * lines);
    if (layout.cells_a_line == 2) {
      layout.width = std::min<std::size_t>(widest_cell, layout.columns < 10 ? 6 : 2);
      return layout;
    }
    std::size_t wanted = 2;
    // Averaged cells have no values of their own, and few columns leave no room: not worth looking.
    constexpr std::size_t least_width = 5;
    if (layout.rows == matrix_.rows() && layout.columns == matrix_.columns() &&
        widest_cell >= least_width) {
      const std::size_t value = value_width();
      // Without colours some shades stand on either side of the value, or the value alone.
      constexpr std::size_t least = 1, beside = 4;
      layout.values = value > 0 && value + least <= widest_cell;
      layout.shades = coloured || !layout.values || value + beside <= widest_cell;
      const std::size_t usual = coloured || !layout.shades ? 2 : beside;
      if (layout.values) wanted = std::min(value + usual, widest_cell);
    }
    layout.width = std::min(widest_cell, std::max(wanted, widest(keys_.labels, widest_label) + 1));
    return layout;
  }

  std::vector<std::string> header_of(const Layout& layout) {
    keys_.shown = layout.columns;
    const std::size_t most =
        options_.lines == 0 ? most_turned_lines
                            : std::clamp<std::size_t>(options_.lines / 4, 3, most_turned_lines);
    return key_label_lines(keys_, layout.width, most);
  }

  double position(double value) const {
    return std::clamp(position_of(value, scale_.range, {}), 0.0, 1.0);
  }

  Colour colour(const TerminalCell& cell) const {
    if (!std::isfinite(cell.value)) return scale_.map.apart(apart_index(cell.value));
    return scale_.map.at(position(cell.value));
  }

  char shade(const TerminalCell& cell) const {
    if (cell.hidden) return ' ';
    if (!std::isfinite(cell.value)) return all_apart[apart_index(cell.value)].shade;
    const double steps = static_cast<double>(shades.size());
    return shades[static_cast<std::size_t>(
        std::clamp(position(cell.value) * steps, 0.0, steps - 1))];
  }

  // What is zero, or nearly, says less than other numbers; "·" is what is hidden.
  std::string number_text(double value) const {
    const std::string text = shown_value(value, format_, PlotStyle::standard);
    if (!format_.marks_small) return text;
    if (value == 0) return "0";
    return text.starts_with('<') || text.starts_with('>') ? "~0" : text;
  }

  void add_cell(TerminalLine& line, const TerminalCell& cell, const Layout& layout) const {
    if (options_.colors == TerminalColors::none) {
      std::string text(layout.width, shade(cell));
      if (layout.values && !cell.hidden && std::isfinite(cell.value)) {
        const std::string value = number_text(cell.value);
        if (!layout.shades) {
          line.add(padded_left(value, layout.width));
          return;
        }
        const std::size_t own = display_width(value), left = (layout.width - own) / 2;
        text = std::string(left, shade(cell)) + value +
               std::string(layout.width - own - left, shade(cell));
      }
      line.add(text);
    } else if (cell.hidden) {
      line.add(in_the_middle("·", layout.width));
    } else {
      const Colour background = colour(cell);
      const std::string value = layout.values ? number_text(cell.value) : "";
      line.add(in_the_middle(value, layout.width), background,
               layout.values ? std::optional(readable_on(background)) : std::nullopt);
    }
  }

  // A cell in the upper half of a line and the one below it; a hidden one lets the terminal's
  // background through.
  void add_halves(TerminalLine& line, const TerminalCells& cells, std::size_t row,
                  std::size_t column, std::size_t width) const {
    const auto colour_of = [&](std::size_t at) -> std::optional<Colour> {
      if (at >= cells.rows() || cells.at(at, column).hidden) return {};
      return colour(cells.at(at, column));
    };
    const auto upper = colour_of(row), lower = colour_of(row + 1);
    if (upper == lower) {
      line.add(std::string(width, ' '), upper);
    } else if (upper) {
      line.add(repeated(upper_half, width), lower, upper);
    } else {
      line.add(repeated(lower_half, width), {}, lower);
    }
  }

  bool averaged(const Layout& layout) const {
    return layout.rows < matrix_.rows() || layout.columns < matrix_.columns();
  }

  // "0.02 ▒▒▒▒ 0.98   · hidden"
  std::string scale(const TerminalCells& cells, const Layout& layout) const {
    const bool coloured = options_.colors != TerminalColors::none;
    std::string hidden;
    if (cells.has_hidden()) {
      hidden = "   " + (coloured && layout.cells_a_line == 1 ? translated("· hidden")
                                                             : translated("blank: hidden"));
    }
    TerminalLine line(options_.colors);
    line.add(std::string(gutter_, ' '));
    if (cells.range().low > cells.range().high) {
      line.add(translated("no finite weights"));
    } else {
      const std::string low = end_text(scale_.range.low) + " ";
      const std::string high = " " + end_text(scale_.range.high);
      const std::size_t used =
          gutter_ + display_width(low) + display_width(high) + display_width(hidden);
      const std::size_t length =
          std::clamp(columns_ - std::min(columns_, used), shades.size(), longest_scale);
      line.add(low);
      if (!layout.shades) line.add("\u2026");
      for (std::size_t i = 0; layout.shades && i < length; ++i) {
        if (coloured) {
          line.add(" ",
                   scale_.map.at((static_cast<double>(i) + 0.5) / static_cast<double>(length)));
        } else {
          line.add(shades.substr(i * shades.size() / length, 1));
        }
      }
      line.add(high);
    }
    line.add(hidden);
    for (const Apart& apart : all_apart) {
      const bool there =
          std::isnan(apart.value) ? cells.has_nan() : cells.has_infinity(apart.value < 0);
      if (!there) continue;
      line.add("   ");
      if (coloured) {
        line.add("  ", scale_.map.apart(apart_index(apart.value)));
      } else {
        line.add(std::string(1, apart.shade));
      }
      line.add(std::string(" ") + apart.name);
    }
    return line.finished();
  }

  std::string remark(const Layout& layout) const {
    if (!averaged(layout)) return "";
    Interval all = {std::numeric_limits<double>::infinity(),
                    -std::numeric_limits<double>::infinity()};
    for (std::size_t row = 0; row < matrix_.rows(); ++row) {
      for (std::size_t column = 0; column < matrix_.columns(); ++column) {
        const double value = matrix_.at(row, column);
        if (!std::isfinite(value) || matrix_.hidden(row, column)) continue;
        all = {std::min(all.low, value), std::max(all.high, value)};
      }
    }
    const auto at_most = [](std::size_t cells, std::size_t shown) {
      return std::to_string((cells + shown - 1) / shown);
    };
    std::string text =
        translated("Each cell is the largest of up to {1} × {2} of {3} × {4} weights",
                   at_most(matrix_.rows(), layout.rows), at_most(matrix_.columns(), layout.columns),
                   matrix_.rows(), matrix_.columns());
    if (all.low <= all.high) {
      const std::string ends =
          translated("they go from {1} to {2}", end_text(all.low), end_text(all.high));
      text += ";" + std::string(display_width(text + ends) + 3 > columns_ ? "\n" : " ") + ends;
    }
    return text + ".\n";
  }

  const TerminalOptions& options_;
  Matrix matrix_;
  ColourScale scale_;
  ValueFormat format_;
  std::size_t columns_;
  ShownLabels labels_;
  TerminalAxis queries_, keys_;
  std::size_t gutter_;  // columns of the labels at the left and the space after them
  std::vector<std::string> title_;
};

}  // namespace
}  // namespace plot::terminal

std::string draw_in_terminal(const Heatmap& heatmap, const TerminalOptions& options) {
  return plot::terminal::TerminalHeatmap(heatmap, options).draw();
}

}  // namespace attn
