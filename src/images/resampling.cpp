#include "images/resampling.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

#include "support/memory.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"

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

RoundedShares rounded_shares(std::size_t from, std::size_t to, std::size_t i, Resampling filter) {
  const FilterShares exact = filter_shares(from, to, i, filter);
  RoundedShares own{exact.first, {}};
  own.shares.reserve(exact.shares.size());
  for (const double share : exact.shares) {
    const double units = share * (1 << share_bits);
    own.shares.push_back(static_cast<std::int32_t>(units < 0 ? units - 0.5 : units + 0.5));
  }
  return own;
}

std::uint8_t rounded(std::int64_t sum) {
  constexpr std::int64_t half = std::int64_t{1} << (share_bits - 1);
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>((sum + half) >> share_bits, 0, 255));
}

Pixels of_size(std::size_t height, std::size_t width, const Pixels& like, const Limits& limits) {
  check_pixels(translated("the resized picture"), height, width, 1, limits);
  return {height, width, std::vector<std::uint8_t>(height * width * channels), like.cut_off};
}

// One pixel of neighbours that are `step` numbers apart.
void mix(const std::uint8_t* neighbours, std::size_t step, const RoundedShares& own,
         std::uint8_t* to) {
  std::int64_t red = 0, green = 0, blue = 0;
  const std::uint8_t* pixel = neighbours + own.first * step;
  for (const std::int64_t share : own.shares) {
    red += share * pixel[0];
    green += share * pixel[1];
    blue += share * pixel[2];
    pixel += step;
  }
  to[0] = rounded(red);
  to[1] = rounded(green);
  to[2] = rounded(blue);
}

// The shares of a column are those of all rows. Those of a few columns are made at a time, as a
// wide picture has more of them than pixels.
Pixels resampled_rows(const Pixels& picture, std::size_t width, Resampling filter,
                      const Limits& limits) {
  if (picture.width == width) return picture;
  Pixels result = of_size(picture.height, width, picture, limits);
  constexpr std::size_t shares_at_once = 1 << 20;
  const std::size_t each = 2 + 8 * std::max<std::size_t>(1, picture.width / width);
  const std::size_t columns = std::max<std::size_t>(1, shares_at_once / each);
  for (std::size_t first = 0; first < width; first += columns) {
    const std::size_t end = std::min(first + columns, width);
    std::vector<RoundedShares> shares;
    for (std::size_t x = first; x < end; ++x) {
      shares.push_back(rounded_shares(picture.width, width, x, filter));
    }
    for (std::size_t y = 0; y < result.height; ++y) {
      check_time();
      const std::uint8_t* const row = picture.rgb.data() + y * picture.width * channels;
      std::uint8_t* const to = result.rgb.data() + y * width * channels;
      for (std::size_t x = first; x < end; ++x) {
        mix(row, channels, shares[x - first], to + x * channels);
      }
    }
  }
  return result;
}

Pixels resampled_columns(const Pixels& picture, std::size_t height, Resampling filter,
                         const Limits& limits) {
  if (picture.height == height) return picture;
  Pixels result = of_size(height, picture.width, picture, limits);
  const std::size_t line = picture.width * channels;
  for (std::size_t y = 0; y < height; ++y) {
    const RoundedShares shares = rounded_shares(picture.height, height, y, filter);
    const auto mix_columns = [&](std::size_t begin, std::size_t end) {
      for (std::size_t x = begin; x < end; ++x) {
        mix(picture.rgb.data() + x * channels, line, shares,
            result.rgb.data() + y * line + x * channels);
      }
    };
    in_stretches(picture.width, mix_columns, shares.shares.size());
  }
  return result;
}

// The source of a result. The steps are added up, as their rounding shows.
class NearestPlaces {
 public:
  NearestPlaces(std::size_t from, std::size_t to)
      : from_(from), step_(static_cast<double>(from) / static_cast<double>(to)), at_(step_ * 0.5) {}

  std::size_t next() {
    const std::size_t place = std::min(static_cast<std::size_t>(at_), from_ - 1);
    at_ += step_;
    return place;
  }

 private:
  std::size_t from_;
  double step_, at_;
};

Pixels nearest(const Pixels& picture, std::size_t height, std::size_t width, const Limits& limits) {
  if (picture.height == height && picture.width == width) return picture;
  Pixels result = of_size(height, width, picture, limits);
  NearestPlaces rows(picture.height, height);
  auto to = result.rgb.begin();
  for (std::size_t y = 0; y < height; ++y) {
    const auto row =
        picture.rgb.begin() + static_cast<std::ptrdiff_t>(rows.next() * picture.width * channels);
    NearestPlaces columns(picture.width, width);
    in_stretches(width, [&](std::size_t begin, std::size_t end) {
      for (std::size_t x = begin; x < end; ++x) {
        to =
            std::copy_n(row + static_cast<std::ptrdiff_t>(columns.next() * channels), channels, to);
      }
    });
  }
  return result;
}

}  // namespace

FilterShares filter_shares(std::size_t from, std::size_t to, std::size_t i, Resampling filter) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double widened = std::max(scale, 1.0), reach = reach_of(filter) * widened;
  const double unit = 1 / widened, centre = (static_cast<double>(i) + 0.5) * scale;
  const double end = std::min(static_cast<double>(from), std::trunc(centre + reach + 0.5));
  FilterShares own;
  own.first = static_cast<std::size_t>(std::max(0.0, centre - reach + 0.5));
  const double count = std::max(0.0, end - static_cast<double>(own.first));
  check_memory(count * sizeof(double), translated("the filter of the resized picture"), "");
  own.shares.reserve(static_cast<std::size_t>(count));
  double sum = 0;
  in_stretches(static_cast<std::size_t>(count), [&](std::size_t begin, std::size_t stretch_end) {
    for (std::size_t at = own.first + begin; at < own.first + stretch_end; ++at) {
      own.shares.push_back(value_of(filter, (static_cast<double>(at) - centre + 0.5) * unit));
      sum += own.shares.back();
    }
  });
  if (sum == 0) return own;
  for (double& share : own.shares) share /= sum;
  return own;
}

Pixels resampled(const Pixels& picture, std::size_t height, std::size_t width, Resampling filter,
                 const Limits& limits) {
  if (filter == Resampling::nearest) return nearest(picture, height, width, limits);
  check_pixels(translated("the resized picture"), height, width, 1, limits);
  // Pillow 13 shortens columns first where that takes away more than twice as much; 12 never did.
  const auto less = [](std::size_t from, std::size_t to) {
    return static_cast<std::ptrdiff_t>(from) - static_cast<std::ptrdiff_t>(to);
  };
  const std::ptrdiff_t rows_less = less(picture.height, height);
  if (rows_less > 0 && rows_less > 2 * less(picture.width, width)) {
    return resampled_rows(resampled_columns(picture, height, filter, limits), width, filter,
                          limits);
  }
  return resampled_columns(resampled_rows(picture, width, filter, limits), height, filter, limits);
}

Pixels centre_cropped(const Pixels& picture, std::size_t height, std::size_t width,
                      const Limits& limits) {
  if (picture.height == height && picture.width == width) return picture;
  Pixels result = of_size(height, width, picture, limits);
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
    check_time();
    const std::size_t from = ((top + y) * picture.width + left) * channels;
    const std::size_t to = ((first_row + y) * width + first_column) * channels;
    std::copy_n(picture.rgb.begin() + static_cast<std::ptrdiff_t>(from), columns * channels,
                result.rgb.begin() + static_cast<std::ptrdiff_t>(to));
  }
  return result;
}

}  // namespace attn
