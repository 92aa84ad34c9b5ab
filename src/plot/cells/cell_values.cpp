#include "plot/cells/cell_values.hpp"

#include <charconv>
#include <cmath>

namespace attn::plot {
namespace {

constexpr double usual_size = 10, least_size = 6;  // points
constexpr std::size_t most_values = 1'000'000;     // more would only be a black area
constexpr double share_of_cell = 0.92;             // that a value may take in the standard style

std::string value_text(double value, PlotStyle style) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value))
    return value > 0 ? "inf" : style == PlotStyle::standard ? "\u2212inf" : "-inf";
  char buffer[400];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, 2).ptr;
  std::string text(buffer, end);
  if (style == PlotStyle::matplotlib) return text;
  return text == "-0.00" ? "0.00" : with_minus_signs(text);
}

// Whether all values fit their cells at a font size.
bool fit(const Box& cell, const Matrix& matrix, PlotStyle style, double size,
         Typesetter& typesetter) {
  const bool standard = style == PlotStyle::standard;
  // The matplotlib style lets values come as near to each other as they can without touching.
  const double share = standard ? share_of_cell : 1;
  const auto fits = [&](const std::string& string) {
    const Text& text = typesetter.text(string, size);
    const double width = standard ? text.width : text.ink.width();
    return width <= share * cell.width() && text.ink.height() <= share * cell.height();
  };
  if (!fits("0.00")) return false;
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    for (std::size_t j = 0; j < matrix.columns(); ++j) {
      if (standard && matrix.hidden(i, j)) continue;
      if (!fits(value_text(matrix.at(i, j), style))) return false;
    }
  }
  return true;
}

// The font size to write the values in; none if they are not to be written.
std::optional<double> value_size(const Box& cell, const Matrix& matrix,
                                 const CellValueOptions& options, PlotStyle style,
                                 Typesetter& typesetter) {
  const bool demanded = options.annotate == Annotate::on;
  const bool too_many = matrix.rows() > most_values / matrix.columns();
  if (options.annotate == Annotate::off || too_many) return std::nullopt;
  if (style == PlotStyle::matplotlib) {
    if (demanded || fit(cell, matrix, style, usual_size, typesetter)) return usual_size;
    return std::nullopt;
  }
  for (double size = usual_size; size >= least_size; --size) {  // NOLINT: whole numbers
    if (fit(cell, matrix, style, size, typesetter)) return size;
  }
  return demanded ? std::optional(least_size) : std::nullopt;
}

}  // namespace

std::vector<CellValue> cell_values(const Box& box, const Matrix& matrix, const CellColours& colours,
                                   const CellValueOptions& options, Typesetter& typesetter) {
  const bool standard = colours.style == PlotStyle::standard;
  const double width = box.width() / static_cast<double>(matrix.columns());
  const double height = box.height() / static_cast<double>(matrix.rows());
  const auto size = value_size({0, 0, width, height}, matrix, options, colours.style, typesetter);
  std::vector<CellValue> values;
  if (!size) return values;
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    for (std::size_t j = 0; j < matrix.columns(); ++j) {
      if (standard && matrix.hidden(i, j)) continue;
      const double value = matrix.at(i, j);
      const Point middle = {box.left + (static_cast<double>(j) + 0.5) * width,
                            box.top + (static_cast<double>(i) + 0.5) * height};
      const Text& text = typesetter.text(value_text(value, colours.style), *size);
      const Colour automatic = standard ? readable_on(colours.of(value)) : black;
      values.push_back({place(text, middle, {Horizontal::centre, Vertical::centre}),
                        options.colour.value_or(automatic)});
    }
  }
  return values;
}

}  // namespace attn::plot
