#include <algorithm>
#include <cmath>
#include <numbers>
#include <variant>

#include "attention/head_preparation.hpp"

namespace attn {
namespace {

// The number of pairs of w/2 with more than `turns` turns in `original` positions, not rounded.
double pair_of_turns(double turns, double width, double theta, double original) {
  return width * std::log(original / (turns * 2 * std::numbers::pi)) / (2 * std::log(theta));
}

double yarn_amplitude(const YarnScaling& yarn) {
  if (yarn.amplitude) return *yarn.amplitude;
  const auto grown = [&](double scale) {
    return yarn.factor <= 1 ? 1.0 : 0.1 * scale * std::log(yarn.factor) + 1;
  };
  if (yarn.mscale && yarn.mscale_all_dim) return grown(*yarn.mscale) / grown(*yarn.mscale_all_dim);
  return grown(1);
}

// Turns the frequencies θ^(−2n/w) into those of a scaling.
struct Scale {
  double theta;
  std::size_t width, length;
  RotaryFrequencies& frequencies;

  void operator()(const std::monostate&) const {}
  void operator()(const LinearScaling& linear) const {
    for (double& f : frequencies.per_pair) f /= linear.factor;
  }
  void operator()(const DynamicScaling& dynamic) const {
    const auto reached = static_cast<double>(length);
    if (reached <= dynamic.original || width <= 2) return;
    const auto w = static_cast<double>(width);
    const double grown =
        theta *
        std::pow(dynamic.factor * reached / dynamic.original - (dynamic.factor - 1), w / (w - 2));
    frequencies = rotary_frequencies(grown, width, std::monostate(), length);
  }
  void operator()(const BandScaling& band) const {
    for (double& f : frequencies.per_pair) {
      const double wave = 2 * std::numbers::pi / f;
      if (wave < band.original / band.high) continue;
      if (wave > band.original / band.low) {
        f /= band.factor;
        continue;
      }
      const double share = (band.original / wave - band.low) / (band.high - band.low);
      f = (1 - share) * f / band.factor + share * f;
    }
  }
  void operator()(const YarnScaling& yarn) const {
    const auto w = static_cast<double>(width);
    double low = pair_of_turns(yarn.beta_fast, w, theta, yarn.original);
    double high = pair_of_turns(yarn.beta_slow, w, theta, yarn.original);
    if (yarn.truncate) {
      low = std::floor(low);
      high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, w - 1);
    if (low == high) high += 0.001;
    for (std::size_t n = 0; n < frequencies.per_pair.size(); ++n) {
      const double ramp = std::clamp((static_cast<double>(n) - low) / (high - low), 0.0, 1.0);
      double& f = frequencies.per_pair[n];
      f = f / yarn.factor * ramp + f * (1 - ramp);
    }
    frequencies.amplitude = yarn_amplitude(yarn);
  }
  void operator()(const LongScaling& scaling) const {
    const bool beyond = static_cast<double>(length) > scaling.original;
    const std::vector<double>& factors = beyond ? scaling.long_factors : scaling.short_factors;
    for (std::size_t n = 0; n < frequencies.per_pair.size(); ++n) {
      frequencies.per_pair[n] /= factors[n];
    }
    frequencies.amplitude = scaling.amplitude;
  }
};

}  // namespace

RotaryFrequencies rotary_frequencies(double theta, std::size_t width, const RotaryScaling& scaling,
                                     std::size_t length) {
  RotaryFrequencies frequencies;
  for (std::size_t n = 0; n < width / 2; ++n) {
    frequencies.per_pair.push_back(
        std::pow(theta, -2 * static_cast<double>(n) / static_cast<double>(width)));
  }
  std::visit(Scale{theta, width, length, frequencies}, scaling);
  return frequencies;
}

RotaryAngles::RotaryAngles(const RotaryFrequencies& frequencies,
                           const std::vector<std::int64_t>& positions)
    : pairs(frequencies.per_pair.size()) {
  cos.reserve(positions.size() * pairs);
  sin.reserve(positions.size() * pairs);
  for (const std::int64_t position : positions) {
    for (const double frequency : frequencies.per_pair) {
      const double angle = static_cast<double>(position) * frequency;
      cos.push_back(std::cos(angle) * frequencies.amplitude);
      sin.push_back(std::sin(angle) * frequencies.amplitude);
    }
  }
}

RotaryAngles::RotaryAngles(const RotaryAngles& start, const RotaryAngles& steps, std::size_t count)
    : cos(count * start.pairs), sin(count * start.pairs), pairs(start.pairs) {
  const double *c = start.cos.data(), *s = start.sin.data();
  for (std::size_t i = 0; i < count; ++i) {
    const double *c_step = steps.cos.data() + i * pairs, *s_step = steps.sin.data() + i * pairs;
    double *const c_sum = cos.data() + i * pairs, *const s_sum = sin.data() + i * pairs;
    for (std::size_t n = 0; n < pairs; ++n) {
      c_sum[n] = c[n] * c_step[n] - s[n] * s_step[n];
      s_sum[n] = s[n] * c_step[n] + c[n] * s_step[n];
    }
  }
}

RotaryAngles::RotaryAngles(const double* cos_table, const double* sin_table, std::size_t pairs_,
                           const std::vector<std::int64_t>& positions)
    : pairs(pairs_) {
  for (const std::int64_t position : positions) {
    const std::size_t row = static_cast<std::size_t>(position) * pairs;
    cos.insert(cos.end(), cos_table + row, cos_table + row + pairs);
    sin.insert(sin.end(), sin_table + row, sin_table + row + pairs);
  }
}

}  // namespace attn
