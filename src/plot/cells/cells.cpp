#include "plot/cells/cells.hpp"

#include <algorithm>
#include <cmath>

#include "attn/error.hpp"

#include "plot/cells/cell_pixels.hpp"

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

// What matplotlib's `interpolation="antialiased"` chooses for the matplotlib style; cells stay
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

// Of a row of cells that are alike one box.
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
  const Box cell = cell_box(box, matrix, 0, 0);
  if (std::min(cell.width(), cell.height()) < least_hatched_cell * pixels_per_point) return;
  canvas.hatch(boxes_of(&Matrix::hidden, box, matrix), paper.hidden_hatch,
               hatch_width * pixels_per_point, hatch_distance * pixels_per_point);
  canvas.hatch(boxes_of(&Matrix::missing, box, matrix), paper.missing_dots,
               hatch_width * pixels_per_point, hatch_distance * pixels_per_point,
               Canvas::Hatch::dotted);
}

}  // namespace

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
      norm(options.norm),
      pixels(options.pixels),
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

}  // namespace attn::plot
