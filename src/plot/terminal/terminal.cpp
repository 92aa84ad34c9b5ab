#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>

#include "attn/error.hpp"

#include "plot/axes/cell_ticks.hpp"
#include "plot/cells/cells.hpp"
#include "plot/terminal/terminal_cells.hpp"
#include "plot/terminal/terminal_labels.hpp"
#include "plot/terminal/terminal_line.hpp"
#include "support/display_width.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot {
namespace {

constexpr const char* default_title = to_translate("Attention Weight Heatmap");
constexpr const char* axes_text = "; rows: queries, columns: keys";
constexpr const char* plain_axes_text = "; rows: positions, columns: dimensions";
constexpr std::string_view shades = ".:-=+*#%@";  // from the smallest value to the largest
constexpr std::string_view upper_half = "▀", lower_half = "▄";
constexpr Colour no_number_colour = {211, 211, 211};
constexpr std::size_t least_columns = 20, least_lines = 4;
constexpr std::size_t widest_label = 14, most_turned_lines = 10;
constexpr std::size_t widest_value = 8;
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

std::string formatted(const char* format, double number) {
  if (std::isnan(number)) return "nan";  // whatever its sign
  char text[400];                        // the largest double has 309 digits before the point
  std::snprintf(text, sizeof text, format, number);
  return text;
}

std::vector<std::string> all_printable(const std::vector<std::string>& strings) {
  std::vector<std::string> result;
  result.reserve(strings.size());
  for (const std::string& string : strings) result.push_back(printable(string));
  return result;
}

// How many cells there are to be and how large each is.
struct Layout {
  std::size_t rows = 0, columns = 0;  // cells
  std::size_t width = 1;              // columns of the terminal a cell
  std::size_t cells_a_line = 1;       // 2: each cell is half a line high
  bool values = false;                // whether each cell's value is written into it
};

class TerminalHeatmap {
 public:
  TerminalHeatmap(const Heatmap& heatmap, const TerminalOptions& options)
      : options_(options),
        matrix_(heatmap, "weights"),
        is_float_(heatmap.weights.dtype() == DType::float32),
        map_(options.cmap.value_or("YlOrRd")),
        columns_(std::max(options.columns, least_columns)),
        labels_(shown_labels(heatmap, {})),
        queries_{all_printable(labels_or(labels_.query, "Q_", matrix_.rows(), heatmap.first_query)),
                 !heatmap.query_labels.empty(), 0},
        keys_{all_printable(labels_or(labels_.key, "K_", matrix_.columns(), heatmap.first_key)),
              !heatmap.key_labels.empty(), 0},
        gutter_(widest(queries_.labels, std::min(widest_label, columns_ / 4)) + 1),
        title_(title_lines(heatmap.title, heatmap.of_positions ? plain_axes_text : axes_text)) {}

  std::string draw() {
    Layout layout = layout_below(1);
    std::vector<std::string> header = header_of(layout);
    if (header.size() > 1) {
      layout = layout_below(header.size());
      header = header_of(layout);
    }
    const TerminalCells cells(matrix_, layout.rows, layout.columns);
    range_ = cells.range();
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

  // The widest value to two decimals, or 0 if one is too wide to be written into a cell.
  std::size_t value_width() const {
    std::size_t width = 0;
    for (std::size_t row = 0; row < matrix_.rows(); ++row) {
      for (std::size_t column = 0; column < matrix_.columns(); ++column) {
        if (matrix_.hidden(row, column)) continue;
        width = std::max(width, formatted("%.2f", matrix_.at(row, column)).size());
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
    if (coloured && layout.rows == matrix_.rows() && layout.columns == matrix_.columns() &&
        widest_cell >= 6) {
      const std::size_t value = value_width();
      layout.values = value > 0 && value + 2 <= widest_cell;
      if (layout.values) wanted = value + 2;
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
    if (!(range_.low < range_.high)) return value < range_.low ? 0 : value > range_.high ? 1 : 0.5;
    const double extent = range_.high - range_.low;
    if (std::isfinite(extent)) return (value - range_.low) / extent;
    return (value / 2 - range_.low / 2) / (range_.high / 2 - range_.low / 2);
  }

  Colour colour(const TerminalCell& cell) const {
    return std::isnan(cell.value) ? no_number_colour : map_.at(position(cell.value));
  }

  char shade(const TerminalCell& cell) const {
    if (cell.hidden) return ' ';
    if (std::isnan(cell.value)) return '?';
    const double steps = static_cast<double>(shades.size());
    return shades[static_cast<std::size_t>(
        std::clamp(position(cell.value) * steps, 0.0, steps - 1))];
  }

  void add_cell(TerminalLine& line, const TerminalCell& cell, const Layout& layout) const {
    if (options_.colors == TerminalColors::none) {
      line.add(std::string(layout.width, shade(cell)));
    } else if (cell.hidden) {
      line.add(in_the_middle("·", layout.width));
    } else {
      const Colour background = colour(cell);
      const std::string value = layout.values ? formatted("%.2f", cell.value) : "";
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

  std::string exactly(double value) const {
    if (!is_float_) return number_text(value);
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, static_cast<float>(value)).ptr;
    return {text, end};
  }

  // "0.02 ▒▒▒▒ 0.98   · hidden"
  std::string scale(const TerminalCells& cells, const Layout& layout) const {
    const bool coloured = options_.colors != TerminalColors::none;
    std::string hidden;
    if (cells.has_hidden()) {
      hidden = coloured && layout.cells_a_line == 1 ? "   · hidden" : "   blank: hidden";
    }
    TerminalLine line(options_.colors);
    line.add(std::string(gutter_, ' '));
    if (range_.low > range_.high) {
      line.add("no finite weights");
    } else {
      const auto end = [&](double value) {
        return averaged(layout) ? formatted("%.3g", value) : exactly(value);
      };
      const std::string low = end(range_.low) + " ", high = " " + end(range_.high);
      const std::size_t used = gutter_ + low.size() + high.size() + display_width(hidden);
      const std::size_t length =
          std::clamp(columns_ - std::min(columns_, used), shades.size(), longest_scale);
      line.add(low);
      for (std::size_t i = 0; i < length; ++i) {
        if (coloured) {
          line.add(" ", map_.at((static_cast<double>(i) + 0.5) / static_cast<double>(length)));
        } else {
          line.add(shades.substr(i * shades.size() / length, 1));
        }
      }
      line.add(high);
    }
    line.add(hidden);
    if (cells.has_nan()) {
      line.add("   ");
      if (coloured) {
        line.add("  ", no_number_colour);
      } else {
        line.add("?");
      }
      line.add(" no number");
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
    std::string text = "Each cell is the mean of up to " + at_most(matrix_.rows(), layout.rows) +
                       " × " + at_most(matrix_.columns(), layout.columns) + " of " +
                       std::to_string(matrix_.rows()) + " × " + std::to_string(matrix_.columns()) +
                       " weights";
    if (all.low <= all.high) {
      const std::string ends = "they go from " + exactly(all.low) + " to " + exactly(all.high);
      text += ";" + std::string(display_width(text + ends) + 3 > columns_ ? "\n" : " ") + ends;
    }
    return text + ".\n";
  }

  const TerminalOptions& options_;
  Matrix matrix_;
  bool is_float_;
  ColourMap map_;
  std::size_t columns_;
  ShownLabels labels_;
  TerminalAxis queries_, keys_;
  std::size_t gutter_;  // columns of the labels at the left and the space after them
  std::vector<std::string> title_;
  Interval range_;  // of the values shown
};

}  // namespace
}  // namespace plot

std::string draw_in_terminal(const Heatmap& heatmap, const TerminalOptions& options) {
  return plot::TerminalHeatmap(heatmap, options).draw();
}

}  // namespace attn
