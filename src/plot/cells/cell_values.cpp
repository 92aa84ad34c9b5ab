#include "plot/cells/cell_values.hpp"

#include <algorithm>
#include <cmath>

#include "support/display_width.hpp"

namespace attn::plot {
namespace {

constexpr double usual_size = 10, least_size = 6;  // points
constexpr std::size_t most_values = 1'000'000;     // more would only be a black area
// What a value may take of its cell in the standard style: across, and down,
// where a line of room stays above and below.
constexpr double share_across = 0.8, share_down = 0.34;

// Of its cell, what a given text may take; and of all texts, how many are to fit without being
// shortened.
constexpr double share_of_texts = 0.92, most_texts = 0.9;

constexpr ValueFormat two_decimals;

// Whether all values fit their cells at a font size.
bool fit(const Box& cell, const Matrix& matrix, const ValueFormat& format, PlotStyle style,
         double size, Typesetter& typesetter) {
  const bool standard = style == PlotStyle::standard;
  // The matplotlib style lets values come as near to each other as they can
  // without touching.
  const double across = standard ? share_across : 1, down = standard ? share_down : 1;
  const auto fits = [&](const std::string& string) {
    const Text& text = typesetter.text(string, size);
    const double width = standard ? text.width : text.ink.width();
    return width <= across * cell.width() && text.ink.height() <= down * cell.height();
  };
  if (!fits(standard ? "0" : "0.00")) return false;
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    for (std::size_t j = 0; j < matrix.columns(); ++j) {
      if ((standard && matrix.hidden(i, j)) || matrix.missing(i, j)) continue;
      if (!fits(shown_value(matrix.at(i, j), format, style))) return false;
    }
  }
  return true;
}

// The font size to write the values in; none if they are not to be written.
std::optional<double> value_size(const Box& cell, const Matrix& matrix, const ValueFormat& format,
                                 const CellValueOptions& options, PlotStyle style,
                                 Typesetter& typesetter) {
  const bool demanded = options.annotate == Annotate::on;
  const bool too_many = matrix.rows() > most_values / matrix.columns();
  if (options.annotate == Annotate::off || too_many) return std::nullopt;
  if (style == PlotStyle::matplotlib) {
    if (demanded || fit(cell, matrix, format, style, usual_size, typesetter)) return usual_size;
    return std::nullopt;
  }
  for (double size = usual_size; size >= least_size; --size) {  // NOLINT: whole numbers
    if (fit(cell, matrix, format, style, size, typesetter)) return size;
  }
  return demanded ? std::optional(least_size) : std::nullopt;
}

// Given texts, each by itself: at the largest size at which most fit, the others shortened.
std::vector<CellValue> given_texts(const Box& box, const Matrix& matrix, const CellColours& colours,
                                   const CellValueOptions& options, Typesetter& typesetter) {
  const double width = box.width() / static_cast<double>(matrix.columns());
  const double height = box.height() / static_cast<double>(matrix.rows());
  const std::vector<std::string>& texts = *options.texts;
  const auto fits = [&](const std::string& string, double size) {
    const Text& text = typesetter.text(string, size);
    return text.width <= share_of_texts * width && text.ink.height() <= share_of_texts * height;
  };
  std::vector<CellValue> values;
  if (options.annotate == Annotate::off || !fits("m", least_size)) return values;
  double size = usual_size;
  for (; size > least_size; --size) {  // NOLINT: whole numbers
    const auto fitting = std::count_if(texts.begin(), texts.end(),
                                       [&](const std::string& text) { return fits(text, size); });
    if (static_cast<double>(fitting) >= most_texts * static_cast<double>(texts.size())) break;
  }
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    for (std::size_t j = 0; j < matrix.columns(); ++j) {
      std::string shown = texts[i * matrix.columns() + j];
      for (std::size_t columns = display_width(shown); columns > 1 && !fits(shown, size);) {
        shown = attn::shortened(shown, --columns);
      }
      if (shown.empty() || !fits(shown, size)) continue;
      const Point middle = {box.left + (static_cast<double>(j) + 0.5) * width,
                            box.top + (static_cast<double>(i) + 0.5) * height};
      values.push_back(
          {place(typesetter.text(shown, size), middle, {Horizontal::centre, Vertical::centre}),
           options.colour.value_or(readable_on(colours.of(matrix.at(i, j))))});
    }
  }
  return values;
}

}  // namespace

std::string shown_value(double value, const ValueFormat& format, PlotStyle style) {
  std::string text = value_text(value, format);
  if (style == PlotStyle::matplotlib) return text;
  // As the key of the colours has them.
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "\u221e" : "\u2212\u221e";
  const bool zero = text.find_first_not_of("-0.") == std::string::npos;
  return with_minus_signs(zero && text.starts_with('-') ? text.substr(1) : text);
}

CellValueOptions value_options(const AnnotationOptions& options) {
  CellValueOptions values{options.when, {}, {}};
  if (options.color) values.colour = parse_colour(*options.color);
  if (options.format) values.format = parse_value_format(*options.format);
  return values;
}

std::vector<CellValue> cell_values(const Box& box, const Matrix& matrix, const CellColours& colours,
                                   const CellValueOptions& options, Typesetter& typesetter) {
  if (options.texts != nullptr) return given_texts(box, matrix, colours, options, typesetter);
  const bool standard = colours.style == PlotStyle::standard;
  const double width = box.width() / static_cast<double>(matrix.columns());
  const double height = box.height() / static_cast<double>(matrix.rows());
  std::vector<CellValue> values;
  // Where no digit fits, the values need not be looked at.
  const Text& digit = typesetter.text("0", least_size);
  const bool room = digit.width <= width && digit.ink.height() <= height;
  if (options.annotate != Annotate::on && !room) return values;
  const ValueFormat format = options.format ? *options.format
                             : standard ? fitting_format({&matrix, 1}, colours.range, colours.norm)
                                        : two_decimals;
  const auto size =
      value_size({0, 0, width, height}, matrix, format, options, colours.style, typesetter);
  if (!size) return values;
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    for (std::size_t j = 0; j < matrix.columns(); ++j) {
      if ((standard && matrix.hidden(i, j)) || matrix.missing(i, j)) continue;
      const double value = matrix.at(i, j);
      const Point middle = {box.left + (static_cast<double>(j) + 0.5) * width,
                            box.top + (static_cast<double>(i) + 0.5) * height};
      const Text& text = typesetter.text(shown_value(value, format, colours.style), *size);
      const Colour automatic = standard ? readable_on(colours.of(value)) : black;
      values.push_back({place(text, middle, {Horizontal::centre, Vertical::centre}),
                        options.colour.value_or(automatic)});
    }
  }
  return values;
}

}  // namespace attn::plot
