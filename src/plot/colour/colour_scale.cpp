#include "plot/colour/colour_scale.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/error.hpp"

#include "support/translated.hpp"

namespace attn::plot {
namespace {

constexpr double most_decades = 6;
constexpr double least_weight_range = 0.1;
constexpr const char* usual_map = "YlOrRd";
constexpr const char* map_about_zero = "RdBu_r";

// The range of what is shown.
Interval data_range(const std::optional<Interval>& values, bool weights, const std::string& map,
                    const ColorOptions& options, const FigureOptions& figure) {
  const bool standard = figure.style == PlotStyle::standard;
  const bool log = options.norm.kind == ColorNorm::Kind::log;
  if (!values) return {log ? 0.1 : 0, 1};
  Interval range = *values;
  const bool both_signs = range.low < 0 && range.high > 0;
  const bool linear = options.norm.kind == ColorNorm::Kind::linear;
  if (standard && linear && both_signs && is_diverging(map)) {
    const double end = std::max(range.high, -range.low);
    return {-end, end};
  }
  if (standard && !log && weights && range.low >= 0) {
    return {0, std::max(range.high, least_weight_range)};
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
                translated("the colour range of a logarithmic scale does not begin above 0"), "",
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

bool narrow_to_shown(Interval& range, Interval shown) {
  if (range.low == 0 && shown.high > 0) {
    range.high = shown.high;
    return true;
  }
  const double end = std::max(std::abs(shown.low), std::abs(shown.high));
  if (range.low != -range.high || !(end > 0)) return false;
  range = {-end, end};
  return true;
}

ColourScale colour_scale(std::span<const Matrix> matrices, bool weights,
                         const ColorOptions& options, const FigureOptions& figure) {
  const ColorNorm& norm = options.norm;
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
  const std::string map = options.cmap.value_or(about_zero ? map_about_zero : usual_map);
  const bool given = options.range.scope == ColorRange::Scope::given;
  const Interval range = given ? range_asked_for(options.range, norm)
                               : data_range(values, weights, map, options, figure);
  return {ColourMap(map), range, given && standard && values && values->low < range.low,
          given && standard && values && values->high > range.high};
}

}  // namespace attn::plot
