#include "plot/colour/colour_scale.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/error.hpp"

#include "plot/colour/colour_map.hpp"

namespace attn::plot {
namespace {

constexpr double most_decades = 6;

Interval data_range(std::span<const Matrix> matrices, const PlotOptions& options) {
  const bool standard = options.style == PlotStyle::standard;
  const bool log = options.norm.kind == ColorNorm::Kind::log;
  Interval range = value_range(matrices, standard, log, options.threads);
  if (standard && log) {
    range.low = std::max(range.low, range.high * std::pow(10.0, -most_decades));
  }
  const bool linear = options.norm.kind == ColorNorm::Kind::linear;
  if (standard && linear && is_diverging(options.cmap) && range.low < 0 && range.high > 0) {
    range.high = std::max(range.high, -range.low);
    range.low = -range.high;
  }
  return range;
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

Interval range_of_colours(std::span<const Matrix> matrices, const PlotOptions& options) {
  const ColorNorm& norm = options.norm;
  if (norm.kind == ColorNorm::Kind::power && !(norm.gamma > 0 && std::isfinite(norm.gamma))) {
    throw Error(ErrorKind::usage, "the power of the colour scale is not a number above 0", "",
                "give one such as 0.5");
  }
  const auto& asked = options.color_range;
  if (asked.scope != ColorRange::Scope::given) return data_range(matrices, options);
  if (!std::isfinite(asked.low) || !std::isfinite(asked.high) || asked.low > asked.high) {
    throw Error(ErrorKind::usage, "the colour range does not go from a smaller to a larger number",
                "", "give the smallest and the largest value, such as 0,1");
  }
  if (norm.kind == ColorNorm::Kind::log && asked.low <= 0) {
    throw Error(ErrorKind::usage, "the colour range of a logarithmic scale does not begin above 0",
                "", "give a smallest value such as 0.001, or another norm");
  }
  if (asked.low < -largest_value || asked.high > largest_value) {
    throw Error(ErrorKind::usage, "the colour range is too wide to compute with", "",
                "give values from -4e307 to 4e307");
  }
  const double least = norm.kind == ColorNorm::Kind::log ? least_positive_value : -largest_value;
  return nonsingular({std::max(asked.low, least), std::max(asked.high, least)}, 0.1, 1e-15);
}

}  // namespace attn::plot
