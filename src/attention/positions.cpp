#include "attention/positions.hpp"

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>
#include <variant>

#include "attn/error.hpp"

#include "attention/head_rows.hpp"
#include "attention/linear.hpp"
#include "support/translated.hpp"
#include "tensor/half_number.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

std::vector<double> power_of_two_slopes(std::size_t heads) {
  std::vector<double> slopes;
  for (std::size_t h = 1; h <= heads; ++h) {
    slopes.push_back(std::exp2(-8 * static_cast<double>(h) / static_cast<double>(heads)));
  }
  return slopes;
}

}  // namespace

std::vector<double> alibi_slopes(std::size_t heads) {
  const std::size_t whole = std::bit_floor(heads);
  std::vector<double> slopes = power_of_two_slopes(whole);
  const std::vector<double> finer = power_of_two_slopes(2 * whole);
  for (std::size_t i = 0; slopes.size() < heads; i += 2) slopes.push_back(finer[i]);
  return slopes;
}

Tensor alibi_rounding(const AttentionRequest& request) {
  const auto rounded = [](float x) { return bfloat16_number(bfloat16_bits(x)); };
  const Geometry geometry = check_geometry(request);
  const double scale = scale_of(request, geometry);
  std::vector<double> bias;
  for (const double slope : alibi_slopes(geometry.heads)) {
    for (std::size_t j = 0; j < geometry.keys; ++j) {
      const float product = rounded(static_cast<float>(slope)) * rounded(static_cast<float>(j));
      bias.push_back(scale * (rounded(product) - slope * static_cast<double>(j)));
    }
  }
  if (std::ranges::all_of(bias, [](double x) { return x == 0; })) return {};
  return Tensor({1, geometry.heads, 1, geometry.keys}, std::move(bias))
      .converted(std::get<ScaledDotProduct>(request.score).query.dtype());
}

std::size_t relative_bucket(std::int64_t distance, std::size_t buckets, std::size_t max_distance,
                            bool bidirectional) {
  std::size_t first = 0;
  if (bidirectional) {
    buckets /= 2;
    if (distance > 0) first = buckets;
    distance = std::abs(distance);
  } else {
    distance = std::max<std::int64_t>(-distance, 0);
  }
  const std::size_t exact = buckets / 2;
  const auto away = static_cast<std::size_t>(distance);
  if (away < exact) return first + away;
  const double grown = std::log(static_cast<double>(away) / static_cast<double>(exact)) /
                       std::log(static_cast<double>(max_distance) / static_cast<double>(exact)) *
                       static_cast<double>(buckets - exact);
  const std::size_t bucket = exact + static_cast<std::size_t>(grown);
  return first + std::min(bucket, buckets - 1);
}

namespace {

void check_slopes(const Alibi& alibi, std::size_t batch, std::size_t heads) {
  const std::vector<double>& slopes = alibi.slopes;
  if (alibi.samples != 1 && (alibi.samples != batch || slopes.size() != batch * heads)) {
    throw input_error(translated("ALiBi's slopes {1} do not fit {2} and {3}",
                                 text({alibi.samples, slopes.size() / alibi.samples}),
                                 translated_count(batch, "{1} sample", "{1} samples"),
                                 translated_count(heads, "{1} query head", "{1} query heads")),
                      "/mask/alibi", translated("give [H], or [B,H] = {1}", text({batch, heads})));
  }
  if (alibi.samples == 1 && slopes.size() != heads) {
    throw input_error(translated("ALiBi has {1}, but there {2}{3}",
                                 translated_count(slopes.size(), "{1} slope", "{1} slopes"),
                                 heads == 1 ? translated("is ") : translated("are "),
                                 translated_count(heads, "{1} query head", "{1} query heads")),
                      "/mask/alibi",
                      translated("give one slope per query head, or true for those of the paper"));
  }
  for (const double slope : slopes) {
    if (std::isfinite(slope)) continue;
    throw input_error(translated("a slope of ALiBi is not a finite number"), "/mask/alibi",
                      translated("give finite numbers"));
  }
}

void check_buckets(const RelativeBias& bias) {
  const std::size_t directions = bias.bidirectional ? 2 : 1;
  if (bias.buckets < 2 * directions || bias.buckets % directions != 0) {
    throw input_error(
        translated("a relative bias cannot have {1}",
                   translated_count(bias.buckets, "{1} bucket", "{1} buckets")),
        "/relative_bias/buckets",
        bias.bidirectional
            ? translated("give an even number of at least 4: half of them for each direction")
            : translated("give at least 2"));
  }
  const std::size_t exact = bias.buckets / directions / 2;
  if (bias.max_distance > exact) return;
  throw input_error(
      translated(
          "the largest distance {1} is not beyond those that have a bucket of their own, up to {2}",
          bias.max_distance, exact),
      "/relative_bias/max_distance", translated("give a larger one, or fewer \"buckets\""));
}

void check_table(const RelativeBias& bias, std::size_t heads) {
  const Shape expected{bias.buckets, heads};
  if (!bias.table) {
    throw input_error(
        translated("the relative bias has no table"), "/relative_bias/table",
        translated("give the biases {1}, one per bucket and query head", text(expected)));
  }
  if (bias.table.shape() == expected) return;
  throw input_error(translated("the table {1} does not fit {2} and {3}", text(bias.table.shape()),
                               translated_count(bias.buckets, "{1} bucket", "{1} buckets"),
                               translated_count(heads, "{1} query head", "{1} query heads")),
                    "/relative_bias/table", translated("give it the shape {1}", text(expected)));
}

}  // namespace

PositionBias::PositionBias(const AttentionOptions& options, const Geometry& geometry)
    : alibi_(options.mask.alibi), heads_(geometry.heads), relative_(options.relative_bias) {
  if (alibi_) {
    if (alibi_->slopes.empty()) alibi_->slopes = alibi_slopes(geometry.heads);
    check_slopes(*alibi_, geometry.batch, geometry.heads);
  }
  if (!relative_) return;
  check_buckets(*relative_);
  check_table(*relative_, geometry.heads);
  if (is_shape_only(relative_->table)) return;
  relative_->table = relative_->table.converted(DType::float64);
  for (const double term : relative_->table.values<double>()) {
    if (std::isfinite(term)) continue;
    throw input_error(
        translated("the table of the relative bias holds a number that is not finite"),
        "/relative_bias/table", translated("give finite numbers; a mask hides keys"));
  }
}

double PositionBias::alibi(std::size_t batch, std::size_t head, std::int64_t distance) const {
  if (!alibi_ || (distance > 0 && !alibi_->symmetric)) return 0;
  return -slope(batch, head) * static_cast<double>(std::abs(distance));
}

std::size_t PositionBias::bucket(std::int64_t distance) const {
  return relative_bucket(distance, relative_->buckets, relative_->max_distance,
                         relative_->bidirectional);
}

double PositionBias::relative(std::size_t head, std::int64_t distance) const {
  if (!relative_) return 0;
  return relative_->table.values<double>()[bucket(distance) * relative_->table.shape()[1] + head];
}

DType step_dtype(const AttentionOptions& options) {
  return options.fused_rounding ? widened(options.dtype) : options.dtype;
}

DType weights_dtype(const AttentionOptions& options) {
  const bool widens = options.fused_rounding || options.mask.bias || options.mask.alibi ||
                      options.relative_bias || options.sinks;
  return widens ? widened(options.dtype) : options.dtype;
}

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

std::size_t DistanceRows::row(std::int64_t distance) const {
  const auto middle = static_cast<std::int64_t>(buckets / 2);
  const std::int64_t size = std::abs(distance);
  std::int64_t place = distance;
  if (buckets > 0 && size > middle) {
    const auto half = static_cast<double>(middle);
    const double share = std::log(static_cast<double>(size) / half) /
                         std::log((static_cast<double>(max_distance) - 1) / half);
    // A bucket beyond all rows where max_distance leaves no room for buckets.
    const double bucket = std::clamp(std::ceil(share * (half - 1)), -0x1p53, 0x1p53);
    place = static_cast<std::int64_t>(bucket) + middle;
    if (distance < 0) place = -place;
  }
  const auto own = static_cast<std::int64_t>(span);
  return static_cast<std::size_t>(std::clamp<std::int64_t>(place + own, 0, 2 * own - 1));
}

namespace {

// Rows `first` … `first + count` − 1 of one head, [count,d].
Tensor head_of(const HeadRows<double>& rows, std::size_t batch, std::size_t head, std::size_t first,
               std::size_t count) {
  std::vector<double> numbers;
  numbers.reserve(count * rows.width());
  for (std::size_t i = first; i < first + count; ++i) {
    const auto row = rows(batch, head, i);
    numbers.insert(numbers.end(), row.begin(), row.end());
  }
  return {{count, rows.width()}, std::move(numbers)};
}

}  // namespace

namespace {

// Numbers `first` … `first + count` − 1 of one head's column of [rows,H]; absent stays so.
Tensor column_of(const Tensor& shifts, std::size_t head, std::size_t first, std::size_t count) {
  if (!shifts) return {};
  const Tensor all = shifts.converted(DType::float64);
  const std::size_t heads = shifts.shape()[1];
  std::vector<double> numbers;
  for (std::size_t i = first; i < first + count; ++i) {
    numbers.push_back(all.values<double>()[i * heads + head]);
  }
  return {{count}, std::move(numbers)};
}

}  // namespace

Tensor disentangled_bias(const DisentangledTerms& terms, const AttentionRequest& request,
                         std::span<const std::int64_t> types) {
  const Geometry geometry = check_geometry(request);
  const Sequences& own = std::get<ScaledDotProduct>(request.score);
  const std::size_t heads = geometry.heads, queries = geometry.queries, keys = geometry.keys;
  const HeadRows<double> query_rows(own.query, heads), key_rows(own.key_or_query(), heads),
      distance_keys(terms.keys, heads), distance_queries(terms.queries, heads),
      segments(terms.segments, heads);
  const double scale = scale_of(request, geometry);

  // The row of query i and key j stands at i + keys − 1 − j. Rows grow with the distance.
  std::vector<std::size_t> rows;
  for (std::size_t n = 0; n < queries + keys - 1; ++n) {
    rows.push_back(
        terms.distances.row(static_cast<std::int64_t>(n + 1) - static_cast<std::int64_t>(keys)));
  }
  const std::size_t first = rows.front(), count = rows.back() - first + 1;
  for (std::size_t& row : rows) row -= first;

  std::vector<double> bias(geometry.batch * heads * queries * keys, 0.0);
  parallel_for(geometry.batch * heads, request.threads, [&](std::size_t task) {
    const std::size_t b = task / heads, h = task % heads;
    double* const to = bias.data() + task * queries * keys;
    const auto add = [&](const HeadRows<double>& of, std::size_t length, const HeadRows<double>& by,
                         const Tensor& shifts, const auto& at) {
      if (by.length() == 0) return;
      const Tensor all =
          apply(Linear{head_of(by, 0, h, first, count), column_of(shifts, h, first, count)},
                head_of(of, b, h, 0, length), 1);
      const auto products = all.values<double>();
      for (std::size_t i = 0; i < queries; ++i) {
        for (std::size_t j = 0; j < keys; ++j) {
          to[i * keys + j] += scale * products[at(i, j) * count + rows[i + keys - 1 - j]];
        }
      }
    };
    add(query_rows, queries, distance_keys, terms.key_shifts,
        [](std::size_t i, std::size_t) { return i; });
    add(key_rows, keys, distance_queries, {}, [](std::size_t, std::size_t j) { return j; });
    if (types.empty() || segments.length() == 0) return;
    const Tensor all =
        apply(Linear{head_of(segments, 0, h, 0, 2), column_of(terms.segment_shifts, h, 0, 2)},
              head_of(query_rows, b, h, 0, queries), 1);
    const auto products = all.values<double>();
    for (std::size_t i = 0; i < queries; ++i) {
      for (std::size_t j = 0; j < keys; ++j) {
        to[i * keys + j] += scale * products[2 * i + (types[i] == types[j] ? 0 : 1)];
      }
    }
  });
  return Tensor({geometry.batch, heads, queries, keys}, std::move(bias))
      .converted(own.query.dtype());
}

}  // namespace attn
