#include "plot/cells.hpp"

#include <cmath>

#include "attn/error.hpp"

#include "plot/resampling.hpp"

namespace attn::plot {
namespace {

constexpr Colour kNoNumber = {211, 211, 211};
constexpr Colour kHatch = {205, 205, 205};
constexpr double kHatchWidth = 0.5;           // points
constexpr double kHatchDistance = 5;          // points
constexpr double kUnderlap = 0.5;             // points; of a cell under its neighbours
constexpr std::size_t kMostRectangles = 512;  // of a vector format along an axis
constexpr double kLeastHatchedCell = 4;       // points; smaller cells are plain

std::uint32_t pixel(Colour colour) {
  return static_cast<std::uint32_t>(colour.red) << 16 |
         static_cast<std::uint32_t>(colour.green) << 8 | colour.blue;
}

Colour colour_of(std::uint32_t pixel) {
  return {static_cast<std::uint8_t>(pixel >> 16), static_cast<std::uint8_t>(pixel >> 8),
          static_cast<std::uint8_t>(pixel)};
}

bool shows_hidden(const Matrix& matrix, const CellColours& colours) {
  return matrix.has_hidden() && colours.style == PlotStyle::standard;
}

/// Sums over the cells of a pixel by their shares, apart for the numbers, the cells without one and
/// the hidden ones.
struct PixelSum {
  float number = 0, share = 0, hidden_share = 0;
};

/// The general way, over all cells of each pixel.
Pixels blended_pixels(const Matrix& matrix, const CellColours& colours,
                      const std::vector<PixelShares>& across,
                      const std::vector<PixelShares>& down) {
  const std::size_t width = across.size(), height = down.size();
  const bool shows = shows_hidden(matrix, colours);
  const bool standard = colours.style == PlotStyle::standard;
  std::vector<PixelSum> sums(width * height), line(width);
  std::size_t first_pixel = 0;
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    while (first_pixel < height && down[first_pixel].first + down[first_pixel].shares.size() <= i) {
      ++first_pixel;
    }
    for (std::size_t x = 0; x < width; ++x) {
      line[x] = {};
      for (std::size_t k = 0; k < across[x].shares.size(); ++k) {
        const std::size_t j = across[x].first + k;
        const auto share = static_cast<float>(across[x].shares[k]);
        const double value = matrix.at(i, j);
        if (shows && matrix.hidden(i, j)) {
          line[x].hidden_share += share;
        } else if (colours.has_place(value)) {
          const double position =
              (value - colours.range.low) / (colours.range.high - colours.range.low);
          line[x].number +=
              share * static_cast<float>(standard ? std::clamp(position, 0.0, 1.0) : position);
          line[x].share += share;
        }
      }
    }
    for (std::size_t y = first_pixel; y < height && down[y].first <= i; ++y) {
      if (i - down[y].first >= down[y].shares.size()) continue;
      const auto share = static_cast<float>(down[y].shares[i - down[y].first]);
      for (std::size_t x = 0; x < width; ++x) {
        PixelSum& sum = sums[y * width + x];
        sum.number += share * line[x].number;
        sum.share += share * line[x].share;
        sum.hidden_share += share * line[x].hidden_share;
      }
    }
  }
  Pixels pixels(width * height);
  for (std::size_t at = 0; at < pixels.size(); ++at) {
    const PixelSum& sum = sums[at];
    if (sum.share > 0) {
      pixels[at] = pixel(colours.map->at(static_cast<double>(sum.number / sum.share)));
    } else {
      pixels[at] = pixel(sum.hidden_share > 0 ? kHidden : colours.of_no_place());
    }
  }
  return pixels;
}

/// The way for most figures, where each pixel shows one cell: lines of a row of cells are alike.
Pixels plain_pixels(const Matrix& matrix, const CellColours& colours,
                    const std::vector<PixelShares>& across, const std::vector<PixelShares>& down) {
  const std::size_t width = across.size(), height = down.size();
  const bool shows = shows_hidden(matrix, colours);
  Pixels pixels(width * height), cells(matrix.columns());
  for (std::size_t y = 0; y < height; ++y) {
    auto* line = pixels.data() + y * width;
    const std::size_t i = down[y].first;
    if (y > 0 && down[y - 1].first == i) {
      std::copy(line - width, line, line);
      continue;
    }
    for (std::size_t j = 0; j < cells.size(); ++j) {
      cells[j] = pixel(shows && matrix.hidden(i, j) ? kHidden : colours.of(matrix.at(i, j)));
    }
    for (std::size_t x = 0; x < width; ++x) line[x] = cells[across[x].first];
  }
  return pixels;
}

/// What matplotlib's `interpolation="antialiased"` chooses for the matplotlib style; cells stay
/// sharp in the standard one.
Resampling resampling_for(std::size_t cells, std::size_t pixels, PlotStyle style) {
  if (style == PlotStyle::standard) {
    return pixels >= cells ? Resampling::nearest : Resampling::mean;
  }
  const bool sharp = pixels > 3 * cells || pixels == cells || pixels == 2 * cells;
  return sharp ? Resampling::nearest : Resampling::hann;
}

Pixels pixels_of(const Matrix& matrix, const CellColours& colours, std::size_t width,
                 std::size_t height, Resampling across_by, Resampling down_by) {
  if (width == matrix.columns()) across_by = Resampling::nearest;
  if (height == matrix.rows()) down_by = Resampling::nearest;
  const auto across = pixel_shares(matrix.columns(), width, across_by);
  const auto down = pixel_shares(matrix.rows(), height, down_by);
  const bool plain = across_by == Resampling::nearest && down_by == Resampling::nearest;
  return plain ? plain_pixels(matrix, colours, across, down)
               : blended_pixels(matrix, colours, across, down);
}

void draw_on_raster(Canvas& canvas, const Box& box, const Matrix& matrix,
                    const CellColours& colours) {
  const auto area = canvas.pixel_area(box);
  const auto width = static_cast<std::size_t>(area.width);
  const auto height = static_cast<std::size_t>(area.height);
  auto across_by = resampling_for(matrix.columns(), width, colours.style);
  auto down_by = resampling_for(matrix.rows(), height, colours.style);
  if (across_by == Resampling::hann || down_by == Resampling::hann) {
    across_by = down_by = Resampling::hann;
  }
  canvas.copy(pixels_of(matrix, colours, width, height, across_by, down_by), area, box);
}

Box cell_box(const Box& box, const Matrix& matrix, std::size_t row, std::size_t column) {
  const double width = box.width() / static_cast<double>(matrix.columns());
  const double height = box.height() / static_cast<double>(matrix.rows());
  return {box.left + static_cast<double>(column) * width,
          box.top + static_cast<double>(row) * height,
          box.left + static_cast<double>(column + 1) * width,
          box.top + static_cast<double>(row + 1) * height};
}

/// Each run of equal cells reaches a little under the next ones, which are drawn over it:
/// rectangles that only touched would let the background shine through their smoothed edges.
void draw_as_rectangles(Canvas& canvas, const Box& box, const Matrix& matrix,
                        const CellColours& colours) {
  const std::size_t width = std::min(matrix.columns(), kMostRectangles);
  const std::size_t height = std::min(matrix.rows(), kMostRectangles);
  const auto pixels = pixels_of(matrix, colours, width, height, Resampling::mean, Resampling::mean);
  const auto edge = [](double from, double to, std::size_t i, std::size_t count) {
    return from + (to - from) * static_cast<double>(i) / static_cast<double>(count);
  };
  for (std::size_t i = 0; i < height; ++i) {
    const double top = edge(box.top, box.bottom, i, height);
    const double bottom =
        std::min(box.bottom, edge(box.top, box.bottom, i + 1, height) + kUnderlap);
    for (std::size_t j = 0; j < width; ++j) {
      const std::uint32_t run = pixels[i * width + j];
      const double left = edge(box.left, box.right, j, width);
      while (j + 1 < width && pixels[i * width + j + 1] == run) ++j;
      const double right = std::min(box.right, edge(box.left, box.right, j + 1, width) + kUnderlap);
      canvas.fill({left, top, right, bottom}, colour_of(run));
    }
  }
}

void hatch_hidden(Canvas& canvas, const Box& box, const Matrix& matrix, double pixels_per_point) {
  const Box cell = cell_box(box, matrix, 0, 0);
  if (std::min(cell.width(), cell.height()) < kLeastHatchedCell * pixels_per_point) return;
  std::vector<Box> hidden;
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    for (std::size_t j = 0; j < matrix.columns(); ++j) {
      if (!matrix.hidden(i, j)) continue;
      Box run = cell_box(box, matrix, i, j);
      while (j + 1 < matrix.columns() && matrix.hidden(i, j + 1)) ++j;
      run.right = cell_box(box, matrix, i, j).right;
      hidden.push_back(run);
    }
  }
  canvas.hatch(hidden, kHatch, kHatchWidth * pixels_per_point, kHatchDistance * pixels_per_point);
}

}  // namespace

Interval range_of_colours(std::span<const Matrix> matrices, const PlotOptions& options) {
  const auto& asked = options.color_range;
  if (asked.scope != ColorRange::Scope::given) {
    return value_range(matrices, options.style == PlotStyle::standard);
  }
  if (!std::isfinite(asked.low) || !std::isfinite(asked.high) || asked.low > asked.high) {
    throw Error(ErrorKind::usage, "the colour range does not go from a smaller to a larger number",
                "", "give the smallest and the largest value, such as 0,1");
  }
  return nonsingular({asked.low, asked.high}, 0.1, 1e-15);
}

bool CellColours::has_place(double value) const {
  return style == PlotStyle::matplotlib ? std::isfinite(value) : !std::isnan(value);
}

Colour CellColours::of_no_place() const {
  return style == PlotStyle::matplotlib ? kWhite : kNoNumber;
}

Colour CellColours::of(double value) const {
  if (!has_place(value)) return of_no_place();
  return map->at((value - range.low) / (range.high - range.low));
}

void draw_cells(Canvas& canvas, const Box& box, const Matrix& matrix, const CellColours& colours,
                double pixels_per_point) {
  if (canvas.is_raster()) {
    draw_on_raster(canvas, box, matrix, colours);
  } else {
    draw_as_rectangles(canvas, box, matrix, colours);
  }
  if (shows_hidden(matrix, colours)) hatch_hidden(canvas, box, matrix, pixels_per_point);
}

}  // namespace attn::plot
