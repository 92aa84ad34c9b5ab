#include "plot/numbers/resampling.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attn::plot {
namespace {

// The place is rounded to a 256th of a cell: so does Agg, and an edge between cells falls on the
// same pixel.
PixelShares nearest_share(std::size_t cells, double middle) {
  return {std::min(static_cast<std::size_t>(std::floor(middle * 256 + 0.5)) / 256, cells - 1), {1}};
}

PixelShares mean_shares(std::size_t cells, double start, double end) {
  PixelShares result{std::min(static_cast<std::size_t>(start), cells - 1), {}};
  for (std::size_t i = result.first; i < cells && static_cast<double>(i) < end; ++i) {
    const double cell = static_cast<double>(i);
    result.shares.push_back(std::max(0.0, std::min(end, cell + 1) - std::max(start, cell)));
  }
  return result;
}

// Beyond the first and the last cell, the cells are mirrored.
PixelShares hann_shares(std::size_t cells, double middle, double radius) {
  const auto last = static_cast<long>(cells) - 1;
  const auto from = static_cast<long>(std::ceil(middle - radius - 0.5));
  const auto to = static_cast<long>(std::floor(middle + radius - 0.5));
  const auto mirrored = [last](long i) {
    return std::clamp(i < 0 ? -1 - i : i > last ? 2 * last + 1 - i : i, 0L, last);
  };
  long lowest = last, highest = 0;
  for (long i = from; i <= to; ++i) {
    lowest = std::min(lowest, mirrored(i));
    highest = std::max(highest, mirrored(i));
  }
  PixelShares result{static_cast<std::size_t>(lowest),
                     std::vector<double>(static_cast<std::size_t>(highest - lowest + 1))};
  for (long i = from; i <= to; ++i) {
    const double distance = (static_cast<double>(i) + 0.5 - middle) / radius;
    result.shares[static_cast<std::size_t>(mirrored(i) - lowest)] +=
        0.5 + 0.5 * std::cos(std::numbers::pi * distance);
  }
  return result;
}

}  // namespace

std::vector<PixelShares> pixel_shares(std::size_t cells, std::size_t pixels,
                                      Resampling resampling) {
  std::vector<PixelShares> result;
  result.reserve(pixels);
  const double cells_per_pixel = static_cast<double>(cells) / static_cast<double>(pixels);
  for (std::size_t x = 0; x < pixels; ++x) {
    const double start = static_cast<double>(x) * cells_per_pixel;
    const double middle = (static_cast<double>(x) + 0.5) * cells_per_pixel;
    switch (resampling) {
      case Resampling::nearest:
        result.push_back(nearest_share(cells, middle));
        break;
      case Resampling::mean:
        result.push_back(mean_shares(cells, start, start + cells_per_pixel));
        break;
      case Resampling::hann:
        result.push_back(hann_shares(cells, middle, std::max(1.0, cells_per_pixel)));
        break;
    }
    double sum = 0;
    for (const double share : result.back().shares) sum += share;
    for (double& share : result.back().shares) share /= sum;
  }
  return result;
}

}  // namespace attn::plot
