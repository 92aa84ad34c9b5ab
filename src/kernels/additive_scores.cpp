#include "kernels/additive_scores.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/additive_scores.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/vector_math_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using AdditiveTag = hn::ScalableTag<float>;
using AdditiveVector = hn::Vec<AdditiveTag>;

constexpr std::size_t unit_group = 4;
constexpr std::size_t additive_lanes = hn::MaxLanes(AdditiveTag());
constexpr std::size_t panel_vectors = 2;
constexpr std::size_t panel_keys = panel_vectors * additive_lanes;
constexpr float widest = 43;  // e⁸⁶ < 2¹²⁵

std::size_t row_floats(std::size_t units) {
  const std::size_t unit = std::max(unit_group, additive_lanes);
  return (units + unit - 1) / unit * unit;
}

// e²ˣ of a row, zeros up to row_floats(); infinity if the row is wide, else the largest power.
float powers_of(const float* x, std::size_t units, float* powers) {
  const AdditiveTag d;
  const auto limit = hn::Set(d, widest);
  auto largest = hn::Zero(d);
  const std::size_t padded = row_floats(units);
  bool narrow = true;
  for (std::size_t u = 0; u < padded; u += additive_lanes) {
    const std::size_t count = std::min(additive_lanes, units - std::min(u, units));
    const auto valid = hn::FirstN(d, count);
    const auto value = count == additive_lanes ? hn::LoadU(d, x + u)
                       : count == 0            ? hn::Zero(d)
                                               : [&] {
                                        HWY_ALIGN float part[additive_lanes] = {};
                                        std::copy_n(x + u, count, part);
                                        return hn::Load(d, part);
                                      }();
    // NaN is not within the limit.
    narrow = narrow && hn::AllTrue(d, hn::Le(hn::Abs(value), limit));
    const auto power = hn::IfThenElseZero(valid, exponential(d, hn::Add(value, value)));
    hn::StoreU(power, d, powers + u);
    largest = hn::Max(largest, power);
  }
  return narrow ? hn::GetLane(hn::MaxOfLanes(d, largest)) : std::numeric_limits<float>::infinity();
}

float key_powers(const float* b, std::size_t stride, std::size_t keys, std::size_t units,
                 float* panel, std::uint8_t* wide) {
  const std::size_t padded = row_floats(units);
  std::fill_n(panel, padded * panel_keys, 0.0F);
  constexpr std::size_t chunk = 256;
  HWY_ALIGN float powers[chunk];
  float largest = 0;
  for (std::size_t j = 0; j < keys; ++j) {
    float row_largest = 0;
    for (std::size_t first = 0; first < units; first += chunk) {
      const std::size_t count = std::min(chunk, units - first);
      row_largest = std::max(row_largest, powers_of(b + j * stride + first, count, powers));
      for (std::size_t u = 0; u < count; ++u) panel[(first + u) * panel_keys + j] = powers[u];
    }
    wide[j] = std::isinf(row_largest) ? 1 : 0;
    if (wide[j] == 0) largest = std::max(largest, row_largest);
  }
  return largest;
}

HWY_INLINE AdditiveVector quotient(AdditiveTag d, AdditiveVector numerator,
                                   AdditiveVector denominator) {
#if HWY_TARGET == HWY_AVX3
  // A division of 16 lanes takes 16 cycles on some processors. The approximation is good to 2⁻¹⁴,
  // after a step of Newton's to 2⁻²³.
  const auto r = hn::ApproximateReciprocal(denominator);
  const auto reciprocal = hn::Mul(r, hn::NegMulAdd(denominator, r, hn::Set(d, 2.0F)));
  return hn::Mul(numerator, reciprocal);
#else
  static_cast<void>(d);
  return hn::Div(numerator, denominator);
#endif
}

// The scores of some queries with one panel.
template <std::size_t queries, bool capped>
HWY_INLINE void panel_scores(const AdditivePanel& task, std::size_t first) {
  const AdditiveTag d;
  using V = AdditiveVector;
  const V one = hn::Set(d, 1.0F), cap = hn::Set(d, additive_cap);
  V sums[queries][panel_vectors];
#pragma GCC unroll 4
  for (std::size_t q = 0; q < queries; ++q) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < panel_vectors; ++v) sums[q][v] = hn::Zero(d);
  }
  const float* w = task.weights;
  const float* panel = task.panel;
  for (std::size_t u = 0; u < task.units; u += unit_group) {
    const V w0 = hn::Set(d, w[u]), w1 = hn::Set(d, w[u + 1]);
    const V w2 = hn::Set(d, w[u + 2]), w3 = hn::Set(d, w[u + 3]);
#pragma GCC unroll 4
    for (std::size_t v = 0; v < panel_vectors; ++v) {
      V key[unit_group];
#pragma GCC unroll 4
      for (std::size_t i = 0; i < unit_group; ++i) {
        key[i] = hn::LoadU(d, panel + i * panel_keys + v * additive_lanes);
      }
#pragma GCC unroll 4
      for (std::size_t q = 0; q < queries; ++q) {
        const float* power = task.powers[first + q] + u;
        // 1. d = 1 + E F of four units.
        V sum[unit_group];
#pragma GCC unroll 4
        for (std::size_t i = 0; i < unit_group; ++i) {
          sum[i] = hn::MulAdd(hn::Set(d, power[i]), key[i], one);
          if constexpr (capped) sum[i] = hn::Min(sum[i], cap);
        }
        // 2. w₀/d₀ + w₁/d₁ and w₂/d₂ + w₃/d₃ as fractions, then their sum as one.
        const V left = hn::MulAdd(w0, sum[1], hn::Mul(w1, sum[0]));
        const V right = hn::MulAdd(w2, sum[3], hn::Mul(w3, sum[2]));
        const V left_divisor = hn::Mul(sum[0], sum[1]);
        const V right_divisor = hn::Mul(sum[2], sum[3]);
        const V numerator = hn::MulAdd(left, right_divisor, hn::Mul(right, left_divisor));
        sums[q][v] =
            hn::Add(sums[q][v], quotient(d, numerator, hn::Mul(left_divisor, right_divisor)));
      }
    }
    panel += unit_group * panel_keys;
  }
  const V weight_sum = hn::Set(d, task.weight_sum), two = hn::Set(d, 2.0F);
#pragma GCC unroll 4
  for (std::size_t q = 0; q < queries; ++q) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < panel_vectors; ++v) {
      hn::StoreU(hn::NegMulAdd(two, sums[q][v], weight_sum), d,
                 task.scores[first + q] + v * additive_lanes);
    }
  }
}

template <bool capped>
HWY_INLINE void all_scores(const AdditivePanel& task) {
  std::size_t q = 0;
  for (; q + 2 <= task.queries; q += 2) panel_scores<2, capped>(task, q);
  if (q < task.queries) panel_scores<1, capped>(task, q);
}

void scores_of_panel(const AdditivePanel& task) {
  if (task.capped) {
    all_scores<true>(task);
  } else {
    all_scores<false>(task);
  }
}

float score_of_pair(const float* a, const float* b, const float* w, std::size_t units) {
  const AdditiveTag d;
  auto sum = hn::Zero(d);
  std::size_t u = 0;
  for (; u + additive_lanes <= units; u += additive_lanes) {
    const auto x = hn::Add(hn::LoadU(d, a + u), hn::LoadU(d, b + u));
    sum = hn::MulAdd(hn::LoadU(d, w + u), hyperbolic_tangent(d, x), sum);
  }
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; u < units; ++u) {
    total += w[u] * hn::GetLane(hyperbolic_tangent(d, hn::Set(d, a[u] + b[u])));
  }
  return total;
}

std::size_t keys_of_panel() {
  return panel_keys;
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

HWY_EXPORT(row_floats);
HWY_EXPORT(keys_of_panel);
HWY_EXPORT(powers_of);
HWY_EXPORT(key_powers);
HWY_EXPORT(scores_of_panel);
HWY_EXPORT(score_of_pair);

std::size_t additive_row_floats(std::size_t units) noexcept {
  return HWY_DYNAMIC_DISPATCH(row_floats)(units);
}

std::size_t additive_panel_keys() noexcept {
  return HWY_DYNAMIC_DISPATCH(keys_of_panel)();
}

float additive_query_powers(const float* a, std::size_t units, float* powers) noexcept {
  return HWY_DYNAMIC_DISPATCH(powers_of)(a, units, powers);
}

float additive_key_powers(const float* b, std::size_t stride, std::size_t keys, std::size_t units,
                          float* panel, std::uint8_t* wide) noexcept {
  return HWY_DYNAMIC_DISPATCH(key_powers)(b, stride, keys, units, panel, wide);
}

void additive_scores(const AdditivePanel& task) noexcept {
  HWY_DYNAMIC_DISPATCH(scores_of_panel)(task);
}

float additive_score(const float* a, const float* b, const float* w, std::size_t units) noexcept {
  return HWY_DYNAMIC_DISPATCH(score_of_pair)(a, b, w, units);
}

}  // namespace attn::kernels
#endif
