#include "images/resampling.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

#include "support/memory.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr std::size_t channels = 3;

double sinc(double x) {
  return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
}

// Keys' cubic convolution with a = −½ (Keys 1981).
double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

double value_of(Resampling filter, double x) {
  switch (filter) {
    case Resampling::box:
      return x > -0.5 && x <= 0.5 ? 1 : 0;
    case Resampling::bilinear:
      return std::max(0.0, 1 - std::abs(x));
    case Resampling::bicubic:
      return cubic(x);
    case Resampling::lanczos:
      return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
    case Resampling::nearest:
      break;
  }
  return 0;
}

double reach_of(Resampling filter) {
  switch (filter) {
    case Resampling::box:
    case Resampling::nearest:
      return 0.5;
    case Resampling::bilinear:
      return 1;
    case Resampling::bicubic:
      return 2;
    case Resampling::lanczos:
      break;
  }
  return 3;
}

// Shares in units of 2⁻²².
constexpr int share_bits = 22;

struct RoundedShares {
  std::size_t first = 0;
  std::vector<std::int32_t> shares;
};

std::vector<RoundedShares> rounded_shares(std::size_t from, std::size_t to, Resampling filter) {
  std::vector<RoundedShares> all;
  for (const FilterShares& exact : filter_shares(from, to, filter)) {
    RoundedShares& own = all.emplace_back();
    own.first = exact.first;
    for (const double share : exact.shares) {
      const double units = share * (1 << share_bits);
      own.shares.push_back(static_cast<std::int32_t>(units < 0 ? units - 0.5 : units + 0.5));
    }
  }
  return all;
}

std::uint8_t rounded(std::int64_t sum) {
  constexpr std::int64_t half = std::int64_t{1} << (share_bits - 1);
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>((sum + half) >> share_bits, 0, 255));
}

Pixels of_size(std::size_t height, std::size_t width, const Pixels& like) {
  check_memory(height * width * channels, 1, translated("the resized picture"), "");
  return {height, width, std::vector<std::uint8_t>(height * width * channels), like.cut_off};
}

// Pixels along `row` of the picture, or along its columns.
Pixels resampled_axis(const Pixels& picture, std::size_t to, bool along_rows, Resampling filter) {
  const std::size_t from = along_rows ? picture.width : picture.height;
  if (from == to) return picture;
  Pixels result =
      along_rows ? of_size(picture.height, to, picture) : of_size(to, picture.width, picture);
  const auto shares = rounded_shares(from, to, filter);
  const std::size_t step = along_rows ? channels : picture.width * channels;
  for (std::size_t y = 0; y < result.height; ++y) {
    for (std::size_t x = 0; x < result.width; ++x) {
      const RoundedShares& own = shares[along_rows ? x : y];
      const std::uint8_t* const begin = picture.rgb.data() +
                                        (along_rows ? y * picture.width * channels : x * channels) +
                                        own.first * step;
      for (std::size_t c = 0; c < channels; ++c) {
        std::int64_t sum = 0;
        const std::uint8_t* value = begin + c;
        for (const std::int32_t share : own.shares) {
          sum += std::int64_t{share} * *value;
          value += step;
        }
        result.rgb[(y * result.width + x) * channels + c] = rounded(sum);
      }
    }
  }
  return result;
}

// The source of each result. The steps are added up, as their rounding shows.
std::vector<std::size_t> nearest_places(std::size_t from, std::size_t to) {
  const double step = static_cast<double>(from) / static_cast<double>(to);
  std::vector<std::size_t> places;
  double at = step * 0.5;
  for (std::size_t i = 0; i < to; ++i, at += step) {
    places.push_back(std::min(static_cast<std::size_t>(at), from - 1));
  }
  return places;
}

}  // namespace

std::vector<FilterShares> filter_shares(std::size_t from, std::size_t to, Resampling filter) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double widened = std::max(scale, 1.0), reach = reach_of(filter) * widened;
  const double unit = 1 / widened;
  std::vector<FilterShares> all(to);
  for (std::size_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const double end = std::min(static_cast<double>(from), std::trunc(centre + reach + 0.5));
    FilterShares& own = all[i];
    own.first = static_cast<std::size_t>(std::max(0.0, centre - reach + 0.5));
    double sum = 0;
    for (std::size_t at = own.first; static_cast<double>(at) < end; ++at) {
      own.shares.push_back(value_of(filter, (static_cast<double>(at) - centre + 0.5) * unit));
      sum += own.shares.back();
    }
    if (sum == 0) continue;
    for (double& share : own.shares) share /= sum;
  }
  return all;
}

Pixels resampled(const Pixels& picture, std::size_t height, std::size_t width, Resampling filter) {
  if (filter != Resampling::nearest) {
    return resampled_axis(resampled_axis(picture, width, true, filter), height, false, filter);
  }
  if (picture.height == height && picture.width == width) return picture;
  Pixels result = of_size(height, width, picture);
  const auto rows = nearest_places(picture.height, height);
  const auto columns = nearest_places(picture.width, width);
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      const std::size_t source = (rows[y] * picture.width + columns[x]) * channels;
      std::copy_n(picture.rgb.begin() + static_cast<std::ptrdiff_t>(source), channels,
                  result.rgb.begin() + static_cast<std::ptrdiff_t>((y * width + x) * channels));
    }
  }
  return result;
}

Pixels centre_cropped(const Pixels& picture, std::size_t height, std::size_t width) {
  if (picture.height == height && picture.width == width) return picture;
  Pixels result = of_size(height, width, picture);
  // The first row of the picture that is taken, and of the result that takes it.
  const auto begin = [](std::size_t from, std::size_t to) {
    return from >= to ? std::pair((from - to) / 2, std::size_t{0})
                      : std::pair(std::size_t{0}, (to - from + 1) / 2);
  };
  const auto [top, first_row] = begin(picture.height, height);
  const auto [left, first_column] = begin(picture.width, width);
  const std::size_t rows = std::min(picture.height, height);
  const std::size_t columns = std::min(picture.width, width);
  for (std::size_t y = 0; y < rows; ++y) {
    const std::size_t from = ((top + y) * picture.width + left) * channels;
    const std::size_t to = ((first_row + y) * width + first_column) * channels;
    std::copy_n(picture.rgb.begin() + static_cast<std::ptrdiff_t>(from), columns * channels,
                result.rgb.begin() + static_cast<std::ptrdiff_t>(to));
  }
  return result;
}

}  // namespace attn
