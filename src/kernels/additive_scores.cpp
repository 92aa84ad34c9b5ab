#include "kernels/additive_scores.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/additive_scores.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/number_sizes_inl.hpp"
#include "kernels/target_dispatch.hpp"
#include "kernels/tile_inl.hpp"
#include "kernels/vector_math_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

constexpr double widest = 34;  // e⁶⁸ < 2⁹⁹
constexpr std::size_t most_together = 8;

// Units added as one fraction if their range allows it. On many processors with AVX-512 a division
// of 16 floats takes so long that eight units are needed to hide it behind the multiply-adds.
#if HWY_TARGET == HWY_AVX3
constexpr std::size_t unit_block = most_together;
#else
constexpr std::size_t unit_block = 4;
#endif
constexpr std::size_t panel_vectors = 2;
template <class T>
constexpr std::size_t panel_keys = panel_vectors* lanes_of<T>;

template <class T>
std::size_t row_count(std::size_t units) {
  return rounded_up(units, std::max(unit_block, lanes_of<T>));
}

// Writes e²ˣ of a row, zeros up to row_count(), times `factors` unless null. Returns the largest
// power; infinity if the row is wide.
template <class T>
T powers_of(const T* x, std::size_t units, const T* factors, T* powers) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t lanes = lanes_of<T>;
  const auto limit = hn::Set(d, static_cast<T>(widest));
  auto largest = hn::Zero(d);
  bool within = true;
  for (std::size_t u = 0; u < row_count<T>(units); u += lanes) {
    const std::size_t count = std::min(lanes, units - std::min(u, units));
    const T* const from = x + std::min(u, units);
    const auto value = count == lanes ? hn::LoadU(d, from) : first_numbers(d, from, count);
    // NaN fails the comparison.
    within = within && hn::AllTrue(d, hn::Le(hn::Abs(value), limit));
    auto power = hn::IfThenElseZero(hn::FirstN(d, count), exponential(d, hn::Add(value, value)));
    largest = hn::Max(largest, power);
    if (factors != nullptr) power = hn::Mul(power, hn::LoadU(d, factors + u));
    hn::StoreU(power, d, powers + u);
  }
  return within ? hn::GetLane(hn::MaxOfLanes(d, largest)) : std::numeric_limits<T>::infinity();
}

template <class T>
T powers_of_keys(const T* b, std::size_t stride, std::size_t keys, std::size_t units, T* panel,
                 std::uint8_t* wide) {
  std::fill_n(panel, row_count<T>(units) * panel_keys<T>, T(0));
  constexpr std::size_t chunk = 256;
  HWY_ALIGN T powers[chunk];
  T largest = 0;
  for (std::size_t j = 0; j < keys; ++j) {
    T row_largest = 0;
    for (std::size_t first = 0; first < units; first += chunk) {
      const std::size_t count = std::min(chunk, units - first);
      row_largest =
          std::max(row_largest, powers_of<T>(b + j * stride + first, count, nullptr, powers));
      for (std::size_t u = 0; u < count; ++u) panel[(first + u) * panel_keys<T> + j] = powers[u];
    }
    wide[j] = std::isinf(row_largest) ? 1 : 0;
    if (wide[j] == 0) largest = std::max(largest, row_largest);
  }
  return largest;
}

// Σ 1 / d of `together` units with d = c + (c E) F, as a fraction.
template <std::size_t together, class D, class V, class T>
HWY_INLINE void fraction(D d, const V* c, const T* power, const V* key, V& numerator, V& divisor) {
  if constexpr (together == 2) {
    const V d0 = hn::MulAdd(hn::Set(d, power[0]), key[0], c[0]);
    const V d1 = hn::MulAdd(hn::Set(d, power[1]), key[1], c[1]);
    numerator = hn::Add(d0, d1);
    divisor = hn::Mul(d0, d1);
  } else {
    constexpr std::size_t half = together / 2;
    V left, left_divisor, right, right_divisor;
    fraction<half>(d, c, power, key, left, left_divisor);
    fraction<half>(d, c + half, power + half, key + half, right, right_divisor);
    numerator = hn::MulAdd(left, right_divisor, hn::Mul(right, left_divisor));
    divisor = hn::Mul(left_divisor, right_divisor);
  }
}

// Σ 1 / d of `count` units; each `together` of them share a division.
template <std::size_t count, std::size_t together, class D, class V, class T>
HWY_INLINE V sum_of_units(D d, const V* c, const T* power, const V* key) {
  if constexpr (count > together) {
    constexpr std::size_t half = count / 2;
    return hn::Add(sum_of_units<half, together>(d, c, power, key),
                   sum_of_units<half, together>(d, c + half, power + half, key + half));
  } else if constexpr (count == 1) {
    return hn::Div(hn::Set(d, T(1)), hn::MulAdd(hn::Set(d, power[0]), key[0], c[0]));
  } else {
    V numerator, divisor;
    fraction<together>(d, c, power, key, numerator, divisor);
    return hn::Div(numerator, divisor);
  }
}

// The scores of some queries with one panel.
template <std::size_t queries, std::size_t together, class T>
HWY_NOINLINE void panel_scores(const AdditivePanel<T>& task, std::size_t first) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::size_t lanes = lanes_of<T>;
  const T* rows[queries];
  V sums[queries][panel_vectors];
#pragma GCC unroll 2
  for (std::size_t q = 0; q < queries; ++q) {
    rows[q] = task.powers[first + q];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < panel_vectors; ++v) sums[q][v] = hn::Zero(d);
  }
  const T* panel = task.panel;
  const T* const inverses = task.weights->inverses;
  for (std::size_t u = 0; u < task.units; u += unit_block) {
    V c[unit_block];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < unit_block; ++i) c[i] = hn::Set(d, inverses[u + i]);
#pragma GCC unroll 2
    for (std::size_t v = 0; v < panel_vectors; ++v) {
      V key[unit_block];
#pragma GCC unroll 8
      for (std::size_t i = 0; i < unit_block; ++i) {
        key[i] = hn::LoadU(d, panel + i * panel_keys<T> + v * lanes);
      }
#pragma GCC unroll 2
      for (std::size_t q = 0; q < queries; ++q) {
        const V sum = sum_of_units<unit_block, together>(d, c, rows[q] + u, key);
        sums[q][v] = hn::Add(sums[q][v], sum);
      }
    }
    panel += unit_block * panel_keys<T>;
  }
  const std::size_t behind = rounded_up(task.units, unit_block) - task.units;
  const V factor = hn::Set(d, task.weights->factor);
  const V weight_sum =
      hn::Set(d, task.weights->sum + static_cast<T>(behind) * task.weights->padding);
#pragma GCC unroll 2
  for (std::size_t q = 0; q < queries; ++q) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < panel_vectors; ++v) {
      hn::StoreU(hn::NegMulAdd(factor, sums[q][v], weight_sum), d,
                 task.scores[first + q] + v * lanes);
    }
  }
}

template <std::size_t together, class T>
void all_scores(const AdditivePanel<T>& task) {
  std::size_t q = 0;
  for (; q + 2 <= task.queries; q += 2) panel_scores<2, together>(task, q);
  if (q < task.queries) panel_scores<1, together>(task, q);
}

template <class T>
void scores_of_panel(const AdditivePanel<T>& task) {
  const T(&most)[3] = task.weights->most;
  const T divisor = 1 + task.largest;
  if (unit_block == most_together && divisor <= most[2]) {
    all_scores<unit_block>(task);
  } else if (divisor <= most[1]) {
    all_scores<4>(task);
  } else if (divisor <= most[0]) {
    all_scores<2>(task);
  } else {
    all_scores<1>(task);
  }
}

template <class T>
T score_of_pair(const T* a, const T* b, const T* w, std::size_t units) {
  const hn::ScalableTag<T> d;
  auto sum = hn::Zero(d);
  std::size_t u = 0;
  for (; u + lanes_of<T> <= units; u += lanes_of<T>) {
    const auto x = hn::Add(hn::LoadU(d, a + u), hn::LoadU(d, b + u));
    sum = hn::MulAdd(hn::LoadU(d, w + u), hyperbolic_tangent(d, x), sum);
  }
  T total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; u < units; ++u) {
    total += w[u] * hn::GetLane(hyperbolic_tangent(d, hn::Set(d, a[u] + b[u])));
  }
  return total;
}

}  // namespace

std::size_t additive_row_floats(std::size_t units) {
  return row_count<float>(units);
}
std::size_t additive_row_doubles(std::size_t units) {
  return row_count<double>(units);
}
std::size_t additive_panel_floats() {
  return panel_keys<float>;
}
std::size_t additive_panel_doubles() {
  return panel_keys<double>;
}
float additive_query_floats(const float* a, std::size_t units, const float* inverses,
                            float* powers) {
  return powers_of(a, units, inverses, powers);
}
double additive_query_doubles(const double* a, std::size_t units, const double* inverses,
                              double* powers) {
  return powers_of(a, units, inverses, powers);
}
float additive_key_floats(const float* b, std::size_t stride, std::size_t keys, std::size_t units,
                          float* panel, std::uint8_t* wide) {
  return powers_of_keys(b, stride, keys, units, panel, wide);
}
double additive_key_doubles(const double* b, std::size_t stride, std::size_t keys,
                            std::size_t units, double* panel, std::uint8_t* wide) {
  return powers_of_keys(b, stride, keys, units, panel, wide);
}
void additive_score_floats(const AdditivePanel<float>& task) {
  scores_of_panel(task);
}
void additive_score_doubles(const AdditivePanel<double>& task) {
  scores_of_panel(task);
}
float additive_pair_floats(const float* a, const float* b, const float* w, std::size_t units) {
  return score_of_pair(a, b, w, units);
}
double additive_pair_doubles(const double* a, const double* b, const double* w, std::size_t units) {
  return score_of_pair(a, b, w, units);
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {
namespace {

// Exponents that keep products of eight d = 2⁻ˢ (1 + E F) / v in range, for |w| = 2ᵏ |v| and
// 2⁻ᵗ ≤ |v| ≤ 1: d ≥ 2⁻ˢ from below, as 8 s is within the exponents of T, and AdditiveWeights::most
// from above. c E is at most 2^(t − s) e⁶⁸.
template <class T>
struct AdditiveRange;
template <>
struct AdditiveRange<float> {
  static constexpr int scale = 15, faintest = 40;
  static constexpr int most = 124;  // eight products of seven d make a numerator
};
template <>
struct AdditiveRange<double> {
  static constexpr int scale = 110, faintest = 110;
  static constexpr int most = 1020;
};

// 1/d of a padding unit, whose E F is 0, in units of 2ˢ: small enough for its error not to matter,
// and large enough not to narrow the range of the other units.
constexpr int padding_exponent = -10;

template <class T>
bool make_weights(const T* w, std::size_t units, T* inverses, AdditiveWeights<T>& weights) {
  using Range = AdditiveRange<T>;
  T largest = 0;
  for (std::size_t u = 0; u < units; ++u) {
    if (!std::isfinite(w[u])) return false;
    largest = std::max(largest, std::abs(w[u]));
  }
  // 1. |w| ≤ 2^k.
  const int k = largest == 0 ? 0 : std::ilogb(largest) + 1;
  if (std::abs(k) > 3 * Range::most / 4) return false;
  // 2. c, and Σ w of the weights that it stands for.
  const std::size_t count = additive_row_count<T>(units);
  const T faintest = std::ldexp(T(1), -Range::faintest);
  long double sum = 0;
  for (std::size_t u = 0; u < units; ++u) {
    const T v = std::ldexp(w[u], -k);
    const T taken = std::copysign(std::max(std::abs(v), faintest), v);
    sum += static_cast<long double>(taken);
    inverses[u] = std::ldexp(1 / taken, -Range::scale);
  }
  std::fill(inverses + units, inverses + count, std::ldexp(T(1), -padding_exponent - Range::scale));
  weights.inverses = inverses;
  weights.sum = std::ldexp(static_cast<T>(sum), k);
  weights.factor = std::ldexp(T(1), k + 1 - Range::scale);
  weights.padding = std::ldexp(T(1), k + 1 + padding_exponent);
  // 3. Products of n divisors are below ((1 + E F) / 2^s)^n Π 1 / |v|.
  for (int i = 0; i < 3; ++i) {
    const std::size_t together = std::size_t(2) << static_cast<unsigned>(i);
    int bits = 0;
    for (std::size_t first = 0; first < count; first += together) {
      int own = 0;
      for (std::size_t u = first; u < std::min(count, first + together); ++u) {
        own += std::ilogb(inverses[u]) + 1 + Range::scale;
      }
      bits = std::max(bits, own);
    }
    const int spare = (Range::most - bits) / static_cast<int>(together);
    weights.most[i] =
        bits > Range::most ? T(0) : std::ldexp(T(1), std::min(Range::scale + spare, Range::most));
  }
  return true;
}

}  // namespace

ATTN_FOR_TARGETS(additive_row_floats);
ATTN_FOR_TARGETS(additive_row_doubles);
ATTN_FOR_TARGETS(additive_panel_floats);
ATTN_FOR_TARGETS(additive_panel_doubles);
ATTN_FOR_TARGETS(additive_query_floats);
ATTN_FOR_TARGETS(additive_query_doubles);
ATTN_FOR_TARGETS(additive_key_floats);
ATTN_FOR_TARGETS(additive_key_doubles);
ATTN_FOR_TARGETS(additive_score_floats);
ATTN_FOR_TARGETS(additive_score_doubles);
ATTN_FOR_TARGETS(additive_pair_floats);
ATTN_FOR_TARGETS(additive_pair_doubles);

template <>
std::size_t additive_row_count<float>(std::size_t units) noexcept {
  return ATTN_OF_TARGET(additive_row_floats)(units);
}
template <>
std::size_t additive_row_count<double>(std::size_t units) noexcept {
  return ATTN_OF_TARGET(additive_row_doubles)(units);
}
template <>
std::size_t additive_panel_keys<float>() noexcept {
  return ATTN_OF_TARGET(additive_panel_floats)();
}
template <>
std::size_t additive_panel_keys<double>() noexcept {
  return ATTN_OF_TARGET(additive_panel_doubles)();
}

bool additive_weights(const float* w, std::size_t units, float* inverses,
                      AdditiveWeights<float>& weights) noexcept {
  return make_weights(w, units, inverses, weights);
}
bool additive_weights(const double* w, std::size_t units, double* inverses,
                      AdditiveWeights<double>& weights) noexcept {
  return make_weights(w, units, inverses, weights);
}

float additive_query_powers(const float* a, std::size_t units, const float* inverses,
                            float* powers) noexcept {
  return ATTN_OF_TARGET(additive_query_floats)(a, units, inverses, powers);
}
double additive_query_powers(const double* a, std::size_t units, const double* inverses,
                             double* powers) noexcept {
  return ATTN_OF_TARGET(additive_query_doubles)(a, units, inverses, powers);
}

float additive_key_powers(const float* b, std::size_t stride, std::size_t keys, std::size_t units,
                          float* panel, std::uint8_t* wide) noexcept {
  return ATTN_OF_TARGET(additive_key_floats)(b, stride, keys, units, panel, wide);
}
double additive_key_powers(const double* b, std::size_t stride, std::size_t keys, std::size_t units,
                           double* panel, std::uint8_t* wide) noexcept {
  return ATTN_OF_TARGET(additive_key_doubles)(b, stride, keys, units, panel, wide);
}

void additive_scores(const AdditivePanel<float>& task) noexcept {
  ATTN_OF_TARGET(additive_score_floats)(task);
}
void additive_scores(const AdditivePanel<double>& task) noexcept {
  ATTN_OF_TARGET(additive_score_doubles)(task);
}

float additive_score(const float* a, const float* b, const float* w, std::size_t units) noexcept {
  return ATTN_OF_TARGET(additive_pair_floats)(a, b, w, units);
}
double additive_score(const double* a, const double* b, const double* w,
                      std::size_t units) noexcept {
  return ATTN_OF_TARGET(additive_pair_doubles)(a, b, w, units);
}

}  // namespace attn::kernels
#endif
