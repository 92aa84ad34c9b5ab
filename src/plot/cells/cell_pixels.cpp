#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "plot/cells/cells.hpp"
#include "support/parallel_for.hpp"

namespace attn::plot {
namespace {

constexpr std::size_t rows_a_task =
    16;  // rows of pixels a task; enough that few cells are read twice
constexpr std::size_t many_cells = 1 << 20;  // of fewer, threads gain nothing
constexpr double farthest = 1e30;            // extents of the range that a cell is beyond its end

// Values without a place in a map, one of each kind. A pixel over several such cells shows the
// last of these kinds that is among them.
constexpr std::array<double, 5> without_place{0, -1, std::numeric_limits<double>::infinity(),
                                              -std::numeric_limits<double>::infinity(),
                                              std::numeric_limits<double>::quiet_NaN()};

float number_of(double value) {
  if (std::isnan(value)) return 4;
  if (std::isinf(value)) return value > 0 ? 2 : 3;
  return 1;
}

// Place of zero in a range of numbers of both signs, so that large negative ones are not lost among
// positive ones; otherwise the low end.
float place_of_zero(const Interval& range) {
  if (range.low >= 0 || range.high < 0) return 0;
  return static_cast<float>(-range.low / (range.high - range.low));
}

// One row of cells: where each value stands between the ends of the range, 0 for those without a
// place; which ones have a place and which are hidden, as 0 and 1; and what the others are.
struct CellRow {
  explicit CellRow(std::size_t columns)
      : numbers(columns), placed(columns), hidden(columns), odd(columns) {}

  std::vector<float> numbers, placed, hidden, odd;
  bool whole = true;  // whether all have a place; the others are not filled in then
};

// Sums over the cells of a pixel, weighted by their shares of it.
struct PixelSum {
  float number = 0, share = 0, hidden_share = 0, odd = 0;

  void add(const PixelSum& other, float weight) {
    number += weight * other.number;
    share += weight * other.share;
    hidden_share += weight * other.hidden_share;
    odd = weight > 0 ? std::max(odd, other.odd) : odd;
  }
  // Keeps the number that is farther from `zero`.
  void keep_largest(const PixelSum& other, float zero) {
    hidden_share += other.hidden_share;
    odd = std::max(odd, other.odd);
    if (other.share <= 0) return;
    const bool larger = std::abs(other.number - zero) > std::abs(number - zero);
    number = share > 0 && !larger ? number : other.number;
    share = 1;
  }
};

// The general way, over all cells of each pixel.
class Blending {
 public:
  Blending(const Matrix& matrix, const CellColours& colours, const std::vector<PixelShares>& across,
           const std::vector<PixelShares>& down)
      : matrix_(matrix),
        colours_(colours),
        down_(down),
        shows_hidden_(colours.shows_hidden(matrix)),
        largest_(colours.pixels == PixelShows::max),
        zero_(place_of_zero(colours.range)),
        pixels_(across.size() * down.size()) {
    for (const PixelShares& pixel_across : across) {
      Across pixel{pixel_across.first, shares_.size(), pixel_across.shares.size(), 0};
      for (const double share : pixel_across.shares) {
        shares_.push_back(static_cast<float>(share));
        pixel.sum += shares_.back();
      }
      across_.push_back(pixel);
    }
  }

  // Where the pixels' values stand, from the smallest to the largest.
  Interval shown() {
    run();
    Interval all = {1, 0};
    for (const Interval& band : shown_) {
      if (band.low > band.high) continue;
      all = all.low > all.high
                ? band
                : Interval{std::min(all.low, band.low), std::max(all.high, band.high)};
    }
    return all;
  }

  Pixels run() {
    const std::size_t bands = (down_.size() + rows_a_task - 1) / rows_a_task;
    shown_.assign(bands, {1, 0});
    const bool many = matrix_.rows() >= many_cells / matrix_.columns();
    parallel_for(bands, many ? colours_.threads : 1, [this](std::size_t band) {
      blend(band * rows_a_task, std::min(down_.size(), (band + 1) * rows_a_task));
    });
    return std::move(pixels_);
  }

 private:
  struct Across {
    std::size_t first, at, count;  // the first cell, and where its shares stand in shares_
    float sum;                     // of the shares
  };

  void blend(std::size_t first_pixel, std::size_t end_pixel) {
    const std::size_t width = across_.size();
    std::vector<PixelSum> sums(width * (end_pixel - first_pixel)), line(width);
    CellRow row(matrix_.columns());
    std::size_t end_row = 0;
    for (std::size_t y = first_pixel; y < end_pixel; ++y) {
      end_row = std::max(end_row, down_[y].first + down_[y].shares.size());
    }
    std::size_t first_row = down_[first_pixel].first;
    for (std::size_t y = first_pixel; y < end_pixel; ++y) {
      first_row = std::min(first_row, down_[y].first);
    }
    for (std::size_t i = first_row; i < end_row; ++i) {
      read(i, row);
      sum_up(row, line);
      for (std::size_t y = first_pixel; y < end_pixel; ++y) {
        if (i < down_[y].first || i - down_[y].first >= down_[y].shares.size()) continue;
        const auto share = static_cast<float>(down_[y].shares[i - down_[y].first]);
        PixelSum* const of_row = sums.data() + (y - first_pixel) * width;
        if (largest_) {
          if (share <= 0) continue;
          for (std::size_t x = 0; x < width; ++x) of_row[x].keep_largest(line[x], zero_);
        } else {
          for (std::size_t x = 0; x < width; ++x) of_row[x].add(line[x], share);
        }
      }
    }
    Interval shown = {std::numeric_limits<double>::infinity(),
                      -std::numeric_limits<double>::infinity()};
    for (std::size_t at = 0; at < sums.size(); ++at) {
      pixels_[first_pixel * width + at] = packed(colour_of(sums[at]));
      if (sums[at].share <= 0) continue;
      const auto mean = static_cast<double>(sums[at].number / sums[at].share);
      shown = {std::min(shown.low, mean), std::max(shown.high, mean)};
    }
    shown_[first_pixel / rows_a_task] = shown;
  }

  void read(std::size_t i, CellRow& row) const {
    if (matrix_.floats().empty()) {
      read_values(matrix_.doubles().subspan(i * matrix_.columns(), matrix_.columns()), i, row);
    } else {
      read_values(matrix_.floats().subspan(i * matrix_.columns(), matrix_.columns()), i, row);
    }
  }

  template <class Number>
  void read_values(std::span<const Number> values, std::size_t i, CellRow& row) const {
    const bool standard = colours_.style == PlotStyle::standard;
    const double low = colours_.range.low, extent = colours_.range.high - low;
    row.whole = !shows_hidden_ && !matrix_.has_left_out();
    // Far beyond the range a float would be infinite, and infinities have no mean.
    const double least = standard ? 0 : -farthest, most = standard ? 1 : farthest;
    for (std::size_t j = 0; j < values.size(); ++j) {
      const double place = (static_cast<double>(values[j]) - low) / extent;
      row.numbers[j] = static_cast<float>(std::clamp(place, least, most));
    }
    const bool positive = colours_.norm.kind == ColorNorm::Kind::log;
    int any_odd = 0;
    for (const Number value : values) {
      any_odd |= !(std::abs(value) < std::numeric_limits<Number>::infinity()) ? 1 : 0;
      any_odd |= positive && value <= 0 ? 1 : 0;
    }
    row.whole = row.whole && any_odd == 0;
    if (row.whole) return;
    for (std::size_t j = 0; j < values.size(); ++j) {
      const bool hidden = shows_hidden_ && matrix_.hidden(i, j);
      const bool missing = shows_hidden_ && matrix_.missing(i, j);
      const bool apart = hidden || missing || matrix_.left_out(i, j);
      const bool placed = !apart && colours_.has_place(static_cast<double>(values[j]));
      row.placed[j] = placed ? 1 : 0;
      row.hidden[j] = hidden ? 1 : 0;
      row.odd[j] = apart || placed ? 0 : number_of(static_cast<double>(values[j]));
      if (!placed) row.numbers[j] = 0;
    }
  }

  void sum_up(const CellRow& row, std::vector<PixelSum>& line) const {
    for (std::size_t x = 0; x < line.size(); ++x) {
      const Across& pixel = across_[x];
      const float* const shares = shares_.data() + pixel.at;
      const float* const numbers = row.numbers.data() + pixel.first;
      PixelSum sum;
      if (largest_) {
        for (std::size_t k = 0; k < pixel.count; ++k) {
          if (shares[k] <= 0) continue;
          const std::size_t j = pixel.first + k;
          sum.keep_largest({row.numbers[j], row.whole ? 1 : row.placed[j],
                            row.whole ? 0 : shares[k] * row.hidden[j], row.whole ? 0 : row.odd[j]},
                           zero_);
        }
      } else if (row.whole) {
        for (std::size_t k = 0; k < pixel.count; ++k) sum.number += shares[k] * numbers[k];
        sum.share = pixel.sum;
      } else {
        for (std::size_t k = 0; k < pixel.count; ++k) {
          const std::size_t j = pixel.first + k;
          sum.add({row.numbers[j], row.placed[j], row.hidden[j], row.odd[j]}, shares[k]);
        }
      }
      line[x] = sum;
    }
  }

  Colour colour_of(const PixelSum& sum) const {
    if (sum.share <= 0) {
      if (sum.odd == 0) {
        return sum.hidden_share > 0     ? colours_.paper.hidden
               : matrix_.has_left_out() ? colours_.paper.ground
                                        : colours_.paper.missing;
      }
      return colours_.of_no_place(without_place[static_cast<std::size_t>(sum.odd)]);
    }
    // The mean is one of values; their mean is coloured by the norm.
    const double mean = static_cast<double>(sum.number / sum.share);
    if (colours_.norm.kind == ColorNorm::Kind::linear) return colours_.map->at(mean);
    return colours_.of(colours_.range.low + mean * (colours_.range.high - colours_.range.low));
  }

  const Matrix& matrix_;
  const CellColours& colours_;
  const std::vector<PixelShares>& down_;
  bool shows_hidden_, largest_;
  float zero_;  // from which the largest are counted
  std::vector<Across> across_;
  std::vector<float> shares_;
  std::vector<Interval> shown_;  // a band
  Pixels pixels_;
};

// The way for most figures, where each pixel shows one cell: rows of pixels are alike that show one
// row of cells.
PixelRows plain_rows(const Matrix& matrix, const CellColours& colours,
                     const std::vector<PixelShares>& across, std::span<const PixelShares> down) {
  const std::size_t width = across.size();
  const bool shows = colours.shows_hidden(matrix);
  PixelRows rows;
  rows.line_of_row.reserve(down.size());
  std::size_t lines = 0;
  for (std::size_t y = 0; y < down.size(); ++y) {
    lines += y == 0 || down[y - 1].first != down[y].first ? 1 : 0;
    rows.line_of_row.push_back(lines - 1);
  }
  rows.lines.resize(width * lines);
  Pixels cells(matrix.columns());
  for (std::size_t y = 0; y < down.size(); ++y) {
    if (y > 0 && rows.line_of_row[y] == rows.line_of_row[y - 1]) continue;
    const std::size_t i = down[y].first;
    for (std::size_t j = 0; j < cells.size(); ++j) {
      cells[j] = packed(matrix.left_out(i, j)           ? colours.paper.ground
                        : shows && matrix.hidden(i, j)  ? colours.paper.hidden
                        : shows && matrix.missing(i, j) ? colours.paper.missing
                                                        : colours.of(matrix.at(i, j)));
    }
    auto* const line = rows.lines.data() + rows.line_of_row[y] * width;
    for (std::size_t x = 0; x < width; ++x) line[x] = cells[across[x].first];
  }
  return rows;
}

// Rows of pixels that show shares of cells. Pixels of one cell are blended once.
PixelRows blended_rows(const Matrix& matrix, const CellColours& colours, const CellPixels& pixels,
                       const std::vector<PixelShares>& across, std::span<const PixelShares> down) {
  const auto each_cell = [](std::size_t cells, std::size_t shown, Resampling by) {
    return by == Resampling::nearest && cells < shown;
  };
  const bool columns = each_cell(matrix.columns(), pixels.width, pixels.across_by);
  const bool rows = each_cell(matrix.rows(), pixels.height, pixels.down_by);
  const auto column_shares =
      columns ? pixel_shares(matrix.columns(), matrix.columns(), Resampling::nearest) : across;
  PixelRows shown;
  std::vector<PixelShares> row_shares;
  for (std::size_t y = 0; y < down.size(); ++y) {
    if (!rows || y == 0 || down[y - 1].first != down[y].first) row_shares.push_back(down[y]);
    shown.line_of_row.push_back(row_shares.size() - 1);
  }
  Pixels blended = Blending(matrix, colours, column_shares, row_shares).run();
  if (!columns) {
    shown.lines = std::move(blended);
    return shown;
  }
  shown.lines.resize(pixels.width * row_shares.size());
  for (std::size_t y = 0; y < row_shares.size(); ++y) {
    const auto* const from = blended.data() + y * column_shares.size();
    auto* const line = shown.lines.data() + y * pixels.width;
    for (std::size_t x = 0; x < pixels.width; ++x) line[x] = from[across[x].first];
  }
  return shown;
}

}  // namespace

PixelRows cell_rows(const Matrix& matrix, const CellColours& colours, const CellPixels& all,
                    std::size_t first, std::size_t count) {
  CellPixels pixels = all;
  if (pixels.width == matrix.columns()) pixels.across_by = Resampling::nearest;
  if (pixels.height == matrix.rows()) pixels.down_by = Resampling::nearest;
  const auto across = pixel_shares(matrix.columns(), pixels.width, pixels.across_by);
  const auto down = pixel_shares(matrix.rows(), pixels.height, pixels.down_by);
  const auto shown = std::span(down).subspan(first, count);
  const bool plain =
      pixels.across_by == Resampling::nearest && pixels.down_by == Resampling::nearest;
  return plain ? plain_rows(matrix, colours, across, shown)
               : blended_rows(matrix, colours, pixels, across, shown);
}

Pixels cell_pixels(const Matrix& matrix, const CellColours& colours, const CellPixels& pixels) {
  PixelRows rows = cell_rows(matrix, colours, pixels, 0, pixels.height);
  if (rows.lines.size() == pixels.width * pixels.height) return std::move(rows.lines);
  Pixels all(pixels.width * pixels.height);
  for (std::size_t y = 0; y < pixels.height; ++y) {
    const auto from =
        rows.lines.begin() + static_cast<std::ptrdiff_t>(rows.line_of_row[y] * pixels.width);
    std::copy_n(from, pixels.width, all.begin() + static_cast<std::ptrdiff_t>(y * pixels.width));
  }
  return all;
}

std::optional<Interval> shown_range(const Matrix& matrix, const CellColours& colours,
                                    std::size_t width, std::size_t height) {
  const auto across = pixel_shares(matrix.columns(), std::min(width, matrix.columns()),
                                   sharp_resampling(matrix.columns(), width));
  const auto down = pixel_shares(matrix.rows(), std::min(height, matrix.rows()),
                                 sharp_resampling(matrix.rows(), height));
  const Interval shown = Blending(matrix, colours, across, down).shown();
  if (shown.low > shown.high) return std::nullopt;
  const double extent = colours.range.high - colours.range.low;
  return Interval{colours.range.low + shown.low * extent, colours.range.low + shown.high * extent};
}

}  // namespace attn::plot
