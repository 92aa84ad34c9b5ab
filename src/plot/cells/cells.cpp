#include "plot/cells/cells.hpp"

#include <algorithm>
#include <cmath>

#include "attn/error.hpp"

#include "support/utf8.hpp"

namespace attn::plot {
namespace {

constexpr double hatch_width = 0.5;       // points
constexpr double hatch_distance = 5;      // points
constexpr double underlap = 0.5;          // points; of a cell under its neighbours
constexpr double least_hatched_cell = 4;  // points; smaller cells are plain

constexpr std::size_t most_rectangles = 4096;                // of a figure in a vector format
constexpr std::size_t most_pixels = std::size_t{512} * 512;  // of the images of one

Colour colour_of(std::uint32_t pixel) {
  return {static_cast<std::uint8_t>(pixel >> 16), static_cast<std::uint8_t>(pixel >> 8),
          static_cast<std::uint8_t>(pixel)};
}

// The choice of matplotlib's `interpolation="antialiased"` in the matplotlib style; cells stay
// sharp in the standard one.
Resampling resampling_for(std::size_t cells, std::size_t pixels, const CellColours& colours) {
  if (colours.style == PlotStyle::standard || colours.pixels == PixelShows::max) {
    return sharp_resampling(cells, pixels);
  }
  const bool sharp = pixels > 3 * cells || pixels == cells || pixels == 2 * cells;
  return sharp ? Resampling::nearest : Resampling::hann;
}

void draw_on_raster(Canvas& canvas, const Box& box, const Matrix& matrix,
                    const CellColours& colours) {
  const auto area = canvas.pixel_area(box);
  const auto width = static_cast<std::size_t>(area.width);
  const auto height = static_cast<std::size_t>(area.height);
  auto across_by = resampling_for(matrix.columns(), width, colours);
  auto down_by = resampling_for(matrix.rows(), height, colours);
  if (across_by == Resampling::hann || down_by == Resampling::hann) {
    across_by = down_by = Resampling::hann;
  }
  const auto shown = canvas.rows_on_band(area, box);
  if (shown.height == 0) return;
  const auto first = static_cast<std::size_t>(shown.top - area.top);
  const CellPixels all{width, height, across_by, down_by};
  canvas.copy(cell_rows(matrix, colours, all, first, static_cast<std::size_t>(shown.height)), shown,
              box);
}

Box cell_box(const Box& box, const Matrix& matrix, std::size_t row, std::size_t column) {
  const double width = box.width() / static_cast<double>(matrix.columns());
  const double height = box.height() / static_cast<double>(matrix.rows());
  return {box.left + static_cast<double>(column) * width,
          box.top + static_cast<double>(row) * height,
          box.left + static_cast<double>(column + 1) * width,
          box.top + static_cast<double>(row + 1) * height};
}

void draw_as_image(Canvas& canvas, const Box& box, const Matrix& matrix,
                   const CellColours& colours) {
  const std::size_t width = std::min(matrix.columns(), colours.in_file.most_across);
  const std::size_t height = std::min(matrix.rows(), colours.in_file.most_across);
  canvas.image(cell_pixels(matrix, colours,
                           {width, height, sharp_resampling(matrix.columns(), width),
                            sharp_resampling(matrix.rows(), height)}),
               width, height, box);
}

// Each run of equal cells reaches a little under the next ones, which are drawn over it:
// rectangles that only touched would let the background shine through their smoothed edges.
void draw_as_rectangles(Canvas& canvas, const Box& box, const Matrix& matrix,
                        const CellColours& colours) {
  const std::size_t width = matrix.columns(), height = matrix.rows();
  const auto pixels =
      cell_pixels(matrix, colours, {width, height, Resampling::nearest, Resampling::nearest});
  const auto edge = [](double from, double to, std::size_t i, std::size_t count) {
    return from + (to - from) * static_cast<double>(i) / static_cast<double>(count);
  };
  for (std::size_t i = 0; i < height; ++i) {
    const double top = edge(box.top, box.bottom, i, height);
    const double bottom = std::min(box.bottom, edge(box.top, box.bottom, i + 1, height) + underlap);
    for (std::size_t j = 0; j < width; ++j) {
      const std::uint32_t run = pixels[i * width + j];
      const double left = edge(box.left, box.right, j, width);
      while (j + 1 < width && pixels[i * width + j + 1] == run) ++j;
      const double right = std::min(box.right, edge(box.left, box.right, j + 1, width) + underlap);
      canvas.fill({left, top, right, bottom}, colour_of(run));
    }
  }
}

// Boxes around runs of cells in a row for which `is` holds.
std::vector<Box> boxes_of(bool (Matrix::*is)(std::size_t, std::size_t) const, const Box& box,
                          const Matrix& matrix) {
  std::vector<Box> boxes;
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    for (std::size_t j = 0; j < matrix.columns(); ++j) {
      if (!(matrix.*is)(i, j)) continue;
      Box run = cell_box(box, matrix, i, j);
      while (j + 1 < matrix.columns() && (matrix.*is)(i, j + 1)) ++j;
      run.right = cell_box(box, matrix, i, j).right;
      boxes.push_back(run);
    }
  }
  return boxes;
}

void hatch_hidden(Canvas& canvas, const Box& box, const Matrix& matrix, const Paper& paper,
                  double pixels_per_point) {
  if (!are_hatched(box, matrix, pixels_per_point)) return;
  canvas.hatch(boxes_of(&Matrix::by_mask, box, matrix), paper.hidden_hatch,
               hatch_width * pixels_per_point, hatch_distance * pixels_per_point);
  canvas.hatch(boxes_of(&Matrix::in_effect, box, matrix), paper.hidden_hatch,
               hatch_width * pixels_per_point, hatch_distance * pixels_per_point,
               Canvas::Hatch::falling);
  canvas.hatch(boxes_of(&Matrix::missing, box, matrix), paper.missing_dots,
               hatch_width * pixels_per_point, hatch_distance * pixels_per_point,
               Canvas::Hatch::dotted);
}

constexpr double usual_size = 10, least_size = 6;               // points
constexpr double least_demanded_size = 2, least_text_size = 5;  // points
constexpr double least_in_print = 5;                            // points, whatever their scale
constexpr std::size_t most_values = 1'000'000;                  // more would only be a black area
// Shares of its cell that a value may take in the standard style: across, and down,
// where a line of room stays above and below.
constexpr double share_across = 0.8, share_down = 0.34;
constexpr double share_of_signed = 0.92;  // across, of values of which some have a sign

// Share of its cell that a given text may take.
constexpr double share_of_texts = 0.92;
constexpr double size_step = 1.2;  // from one size that is tried to the next below

constexpr ValueFormat two_decimals;
constexpr const char* nearly_zero = "\u00B7";

// Whether all values fit their cells at a font size.
bool fit(const Box& cell, const Matrix& matrix, const ValueFormat& format, PlotStyle style,
         bool with_signs, double size, Typesetter& typesetter) {
  const bool standard = style == PlotStyle::standard;
  // The matplotlib style lets values come as near to each other as they can
  // without touching.
  const double across = !standard ? 1 : with_signs ? share_of_signed : share_across;
  const double down = standard ? share_down : 1;
  const auto fits = [&](const std::string& string) {
    const Text& text = typesetter.text(string, size);
    const double width = standard ? text.width : text.ink.width();
    return width <= across * cell.width() && text.ink.height() <= down * cell.height();
  };
  if (!fits(standard ? "0" : "0.00")) return false;
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    for (std::size_t j = 0; j < matrix.columns(); ++j) {
      if ((standard && matrix.hidden(i, j)) || matrix.apart(i, j)) continue;
      if (!fits(shown_value(matrix.at(i, j), format, style))) return false;
    }
  }
  return true;
}

// The font size to write the values in; none if they are not to be written.
std::optional<double> value_size(const Box& cell, const Matrix& matrix, const ValueFormat& format,
                                 const CellValueOptions& options, PlotStyle style, bool with_signs,
                                 Typesetter& typesetter) {
  const bool demanded = options.annotate == Annotate::on;
  const bool too_many = matrix.rows() > most_values / matrix.columns();
  if (options.annotate == Annotate::off || too_many) return std::nullopt;
  if (style == PlotStyle::matplotlib) {
    if (demanded || fit(cell, matrix, format, style, with_signs, usual_size, typesetter))
      return usual_size;
    return std::nullopt;
  }
  const double least = std::max(least_size, least_in_print / typesetter.font_scale());
  // NOLINTNEXTLINE: whole numbers
  for (double size = options.most_size; size >= least; --size) {
    if (fit(cell, matrix, format, style, with_signs, size, typesetter)) return size;
  }
  if (!demanded) return std::nullopt;
  double size = std::min(least_size, options.most_size);
  while (size > least_demanded_size &&
         !fit(cell, matrix, format, style, with_signs, size, typesetter)) {
    size /= size_step;
  }
  return size;
}

// Given texts at the largest size at which all fit, or the least one, at which some are shortened.
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
  if (options.annotate == Annotate::off || !fits("m", least_text_size)) return values;
  double size = usual_size;
  while (size > least_text_size && !std::all_of(texts.begin(), texts.end(), [&](const auto& text) {
           return fits(text, size);
         })) {
    --size;
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

bool are_hatched(const Box& box, const Matrix& matrix, double pixels_per_point) {
  const Box cell = cell_box(box, matrix, 0, 0);
  return std::min(cell.width(), cell.height()) >= least_hatched_cell * pixels_per_point;
}

CellsInFile cells_in_file(std::size_t maps, std::size_t rows, std::size_t columns) {
  CellsInFile cells;
  const double pixels = static_cast<double>(most_pixels) / static_cast<double>(maps);
  cells.most_across = std::max<std::size_t>(1, static_cast<std::size_t>(std::sqrt(pixels)));
  cells.as_image = maps * columns > most_rectangles / std::min(rows, most_rectangles);
  return cells;
}

CellColours::CellColours(const ColourScale& scale, const ColorOptions& options,
                         const FigureOptions& figure, const Paper& on,
                         const CellsInFile& cells_in_file)
    : map(&scale.map),
      range(scale.range),
      style(figure.style),
      norm(scale.norm),
      norm_chosen(scale.norm_chosen),
      pixels(options.pixels != PixelShows::automatic ? options.pixels
             : figure.style == PlotStyle::matplotlib ? PixelShows::mean
                                                     : PixelShows::max),
      threads(figure.threads),
      paper(on),
      in_file(cells_in_file) {}

bool CellColours::has_place(double value) const {
  return std::isfinite(value) && (norm.kind != ColorNorm::Kind::log || value > 0);
}

Colour CellColours::of_no_place(double value) const {
  if (style == PlotStyle::matplotlib) return white;
  constexpr std::size_t not_a_number = 0, minus_infinity = 1, infinity = 2, not_positive = 3;
  return map->apart(std::isnan(value)   ? not_a_number
                    : std::isinf(value) ? value > 0 ? infinity : minus_infinity
                                        : not_positive);
}

Colour CellColours::of(double value) const {
  if (!has_place(value)) return of_no_place(value);
  return map->at(position_of(value, range, norm));
}

bool CellColours::shows_hidden(const Matrix& matrix) const {
  return matrix.has_hidden() && style == PlotStyle::standard;
}

void draw_cells(Canvas& canvas, const Box& box, const Matrix& matrix, const CellColours& colours,
                double pixels_per_point) {
  if (canvas.is_raster()) {
    draw_on_raster(canvas, box, matrix, colours);
  } else if (colours.in_file.as_image) {
    draw_as_image(canvas, box, matrix, colours);
  } else {
    draw_as_rectangles(canvas, box, matrix, colours);
  }
  if (colours.shows_hidden(matrix))
    hatch_hidden(canvas, box, matrix, colours.paper, pixels_per_point);
}

std::string shown_value(double value, const ValueFormat& format, PlotStyle style) {
  std::string text = value_text(value, format);
  if (style == PlotStyle::matplotlib) return text;
  // Names of the key of the colours.
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
  const ValueFormat format =
      options.format ? *options.format
      : standard ? fitting_format({&matrix, 1}, colours.range, colours.norm, options.next_to_bar)
                 : two_decimals;
  const auto size = value_size({0, 0, width, height}, matrix, format, options, colours.style,
                               colours.range.low < 0 && colours.range.high > 0, typesetter);
  if (!size) return values;
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    for (std::size_t j = 0; j < matrix.columns(); ++j) {
      if ((standard && matrix.hidden(i, j)) || matrix.apart(i, j)) continue;
      const double value = matrix.at(i, j);
      const Point middle = {box.left + (static_cast<double>(j) + 0.5) * width,
                            box.top + (static_cast<double>(i) + 0.5) * height};
      std::string string = shown_value(value, format, colours.style);
      // Cells that are zero, or nearly, say less than the others.
      if (standard && (string.starts_with('<') || string.starts_with('>'))) string = nearly_zero;
      if (standard && format.marks_small && value == 0) string = "0";
      const Text& text = typesetter.text(string, *size);
      const Colour automatic = standard ? readable_on(colours.of(value)) : black;
      values.push_back({place(text, middle, {Horizontal::centre, Vertical::centre}),
                        options.colour.value_or(automatic), *size});
    }
  }
  return values;
}

}  // namespace attn::plot
