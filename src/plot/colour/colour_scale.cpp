#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "attn/error.hpp"

#include "plot/colour/colour.hpp"
#include "support/translated.hpp"

namespace attn::plot {
namespace {

constexpr double most_decades = 6;
constexpr double least_weight_range = 0.1;
// Keys of rows whose weights are shown on the whole range from 0 to 1, and on at least a tenth.
constexpr std::size_t few_keys = 12, some_keys = 20;
constexpr std::size_t most_cells_read = 1 << 21;  // of larger maps some rows stand for all
constexpr double least_of_even = 4;               // even weights that a scale reaches
// Of maps of so many keys a scale is by a power where more than this share of all weight would
// have the palest colours, those up to a tenth of the map.
constexpr std::size_t long_rows = 200;
constexpr double most_pale = 1.0 / 3, pale = 0.1;
constexpr std::array powers = {1.0, 1.0 / 2, 1.0 / 3};
constexpr double most_rounding = 0.01;  // of the sum of a row
// Numbers of one sign have the colours of distances from zero if they come so near it.
constexpr double near_zero = 0.1;  // of the number farthest from it
constexpr const char* usual_map = "YlOrRd";
constexpr const char* map_about_zero = "RdBu_r";
constexpr const char* map_below_zero = "Blues_r";
constexpr const char* usual_map_on_dark = "magma";

// Rows of weights that sum to 1.
struct WholeRows {
  bool all = false;         // whether every row that sees any key sums to 1
  std::size_t columns = 0;  // of the widest matrix
  std::size_t keys = 0;     // keys that each query sees, 0 if their numbers differ
};

// Rows from one that is read to the next.
std::size_t stride_of(std::span<const Matrix> matrices) {
  std::size_t cells = 0;
  for (const Matrix& matrix : matrices) cells += matrix.rows() * matrix.columns();
  return 1 + cells / most_cells_read;
}

WholeRows whole_rows(std::span<const Matrix> matrices) {
  const std::size_t stride = stride_of(matrices);
  WholeRows rows;
  bool first = true;
  for (const Matrix& matrix : matrices) {
    rows.columns = std::max(rows.columns, matrix.columns());
    for (std::size_t i = 0; i < matrix.rows(); i += stride) {
      double sum = 0;
      std::size_t keys = 0;
      for (std::size_t j = 0; j < matrix.columns(); ++j) {
        if (!matrix.seen(i, j)) continue;
        if (!(matrix.at(i, j) >= 0)) return {};
        sum += matrix.at(i, j);
        ++keys;
      }
      if (sum == 0) continue;
      if (!(std::abs(sum - 1) <= most_rounding)) return {};
      rows.keys = first || rows.keys == keys ? keys : 0;
      first = false;
      rows.all = true;
    }
  }
  return rows;
}

// The share of all weight that lies in cells paler than a tenth of the colours, one for each power.
std::array<double, powers.size()> pale_shares(std::span<const Matrix> matrices, double largest) {
  std::array<double, powers.size()> ends{}, sums{};
  for (std::size_t k = 0; k < powers.size(); ++k) ends[k] = largest * std::pow(pale, 1 / powers[k]);
  const std::size_t stride = stride_of(matrices);
  double all = 0;
  for (const Matrix& matrix : matrices) {
    for (std::size_t i = 0; i < matrix.rows(); i += stride) {
      for (std::size_t j = 0; j < matrix.columns(); ++j) {
        const double weight = matrix.at(i, j);
        if (!std::isfinite(weight) || !matrix.seen(i, j)) continue;
        all += weight;
        for (std::size_t k = 0; k < powers.size(); ++k) sums[k] += weight < ends[k] ? weight : 0;
      }
    }
  }
  for (double& sum : sums) sum = all > 0 ? sum / all : 0;
  return sums;
}

// The norm in the place of an automatic one, for weights up to `largest`.
ColorNorm norm_for(std::span<const Matrix> matrices, double largest) {
  const bool is_long = std::any_of(matrices.begin(), matrices.end(), [](const Matrix& matrix) {
    return matrix.columns() >= long_rows;
  });
  if (!is_long || !(largest > 0)) return {ColorNorm::Kind::linear};
  const auto shares = pale_shares(matrices, largest);
  std::size_t k = 0;
  while (k + 1 < powers.size() && shares[k] > most_pale) ++k;
  if (k == 0) return {ColorNorm::Kind::linear};
  return {ColorNorm::Kind::power, powers[k]};
}

// The least end of a scale of such rows: a multiple of the even weight, so that even rows are pale.
double least_end_of(const WholeRows& rows) {
  if (!rows.all) return 0;
  const double even = 1 / static_cast<double>(rows.keys > 0 ? rows.keys : rows.columns);
  const double least = rows.columns <= some_keys ? least_weight_range : 0;
  return std::min(1.0, std::max(least, least_of_even * even));
}

// Whether the highest of numbers that lie below zero is next to it.
bool ends_near_zero(const Interval& values) {
  return values.low < 0 && values.high <= 0 && values.high >= near_zero * values.low;
}

// The range of what is shown. `rows` is empty where the numbers are no weights.
Interval data_range(const std::optional<Interval>& values, bool weights, const WholeRows& rows,
                    const std::string& map, ColorNorm::Kind norm, bool standard) {
  const bool log = norm == ColorNorm::Kind::log;
  if (!values) return {log ? 0.1 : 0, 1};
  Interval range = *values;
  const bool both_signs = range.low < 0 && range.high > 0;
  const bool linear = norm == ColorNorm::Kind::linear;
  if (standard && linear && both_signs && is_diverging(map)) {
    const double end = std::max(range.high, -range.low);
    return {-end, end};
  }
  if (standard && !log && weights && range.low >= 0) {
    const double least = range.high < least_positive_value ? least_weight_range : 0;
    if (!rows.all) return {0, std::max(range.high, least)};
    return {0, std::max(least, end_of_whole_rows(range.high, rows.columns, rows.keys))};
  }
  if (standard && linear && range.low == 0 && range.high == 0 && !is_diverging(map)) return {0, 1};
  if (standard && linear && ends_near_zero(range)) return {range.low, 0};
  const bool begins_near_zero = range.low >= 0 && range.low <= near_zero * range.high;
  if (standard && linear && begins_near_zero && range.high >= least_positive_value) {
    return {0, range.high};
  }
  range = nonsingular(range, 0.1, 1e-15);
  if (standard && log) {
    range.low = std::max(range.low, range.high * std::pow(10.0, -most_decades));
  }
  return range;
}

Interval range_asked_for(const ColorRange& asked, const ColorNorm& norm) {
  if (!std::isfinite(asked.low) || !std::isfinite(asked.high) || asked.low > asked.high) {
    throw Error(ErrorKind::usage,
                translated("the colour range does not go from a smaller to a larger number"), "",
                translated("give the smallest and the largest value, such as 0,1"));
  }
  if (norm.kind == ColorNorm::Kind::log && asked.low <= 0) {
    throw Error(ErrorKind::usage,
                translated("the colour range of a logarithmic scale does not begin above 0"),
                "ColorOptions::range",
                translated("give a smallest value such as 0.001, or another norm"));
  }
  if (asked.low < -largest_value || asked.high > largest_value) {
    throw Error(ErrorKind::usage, translated("the colour range is too wide to compute with"), "",
                translated("give values from -4e307 to 4e307"));
  }
  const double least = norm.kind == ColorNorm::Kind::log ? least_positive_value : -largest_value;
  return nonsingular({std::max(asked.low, least), std::max(asked.high, least)}, 0.1, 1e-15);
}

}  // namespace

double position_of(double value, Interval range, const ColorNorm& norm) {
  switch (norm.kind) {
    case ColorNorm::Kind::automatic:
    case ColorNorm::Kind::linear:
      break;
    case ColorNorm::Kind::log:
      if (value <= 0) return -std::numeric_limits<double>::infinity();
      return (std::log(value) - std::log(range.low)) / (std::log(range.high) - std::log(range.low));
    case ColorNorm::Kind::power:
      return std::pow(std::max(0.0, (value - range.low) / (range.high - range.low)), norm.gamma);
  }
  return (value - range.low) / (range.high - range.low);
}

double end_of_whole_rows(double largest, std::size_t columns, std::size_t keys) {
  if (columns <= few_keys) return 1;
  return std::max(largest, least_end_of({true, columns, keys}));
}

bool narrow_to_shown(Interval& range, Interval shown, double least_end) {
  if (range.low == 0 && shown.high > 0) {
    range.high = std::max(shown.high, least_end);
    return true;
  }
  const double end = std::max(std::abs(shown.low), std::abs(shown.high));
  if (range.low != -range.high || !(end > 0)) return false;
  range = {-end, end};
  return true;
}

std::string map_of_differences(const FigureOptions& figure) {
  const bool dark = figure.style == PlotStyle::standard && figure.background == Background::dark;
  return dark ? map_about_zero_on_dark : map_about_zero;
}

ColourScale colour_scale(std::span<const Matrix> matrices, bool weights,
                         const ColorOptions& options, const FigureOptions& figure) {
  ColorNorm norm = options.norm;
  const bool automatic = norm.kind == ColorNorm::Kind::automatic;
  if (automatic) norm.kind = ColorNorm::Kind::linear;
  if (norm.kind == ColorNorm::Kind::power && !(norm.gamma > 0 && std::isfinite(norm.gamma))) {
    throw Error(ErrorKind::usage,
                translated("the power of the colour scale is not a number above 0"), "",
                translated("give one such as 0.5"));
  }
  const bool standard = figure.style == PlotStyle::standard;
  const std::optional<Interval> values =
      value_range(matrices, standard, norm.kind == ColorNorm::Kind::log, figure.threads);
  const bool about_zero = standard && norm.kind == ColorNorm::Kind::linear && values &&
                          values->low < 0 && values->high > 0;
  const bool below_zero = standard && norm.kind == ColorNorm::Kind::linear && values &&
                          values->low < 0 && values->high <= 0;
  const bool dark = standard && figure.background == Background::dark;
  const std::string map = options.cmap.value_or(about_zero   ? map_of_differences(figure)
                                                : below_zero ? map_below_zero
                                                : dark       ? usual_map_on_dark
                                                             : usual_map);
  const WholeRows rows = standard && weights ? whole_rows(matrices) : WholeRows();
  const bool given = options.range.scope == ColorRange::Scope::given;
  const Interval range = given ? range_asked_for(options.range, norm)
                               : data_range(values, weights, rows, map, norm.kind, standard);
  const bool chosen = standard && automatic && weights && !given && values && values->low >= 0;
  if (chosen) norm = norm_for(matrices, range.high);
  return {ColourMap(map),
          range,
          norm,
          chosen && norm.kind == ColorNorm::Kind::power,
          given && standard && values && values->low < range.low,
          given && standard && values && values->high > range.high,
          rows.all ? rows.keys : 0,
          rows.all,
          0,
          least_end_of(rows)};
}

}  // namespace attn::plot
