#include "kernels/row_functions.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_functions.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/target_dispatch.hpp"
#include "kernels/vector_math_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// 1. Activations.

using CurveTag = hn::ScalableTag<float>;
using CurveVector = hn::Vec<CurveTag>;
constexpr std::size_t curve_lanes = hn::MaxLanes(CurveTag());

// erfc z for z ≥ 0, to 1.5e-7 (Abramowitz and Stegun 1964, 7.1.26), 0 from 9.3 on. NaN passes.
HWY_INLINE CurveVector complementary_error(CurveTag d, CurveVector z) {
  const auto constant = [d](float c) { return hn::Set(d, c); };
  const CurveVector t = hn::Div(constant(1), hn::MulAdd(constant(0.3275911F), z, constant(1)));
  CurveVector y = constant(1.061405429F);
  y = hn::MulAdd(y, t, constant(-1.453152027F));
  y = hn::MulAdd(y, t, constant(1.421413741F));
  y = hn::MulAdd(y, t, constant(-0.284496736F));
  y = hn::MulAdd(y, t, constant(0.254829592F));
  return hn::Mul(hn::Mul(y, t), exponential(d, hn::Neg(hn::Mul(z, z))));
}

template <Curve curve>
HWY_INLINE CurveVector curve_of(CurveTag d, CurveVector constant, CurveVector x) {
  const CurveVector zero = hn::Zero(d), one = hn::Set(d, 1.0F), half = hn::Set(d, 0.5F);
  if constexpr (curve == Curve::relu) {
    return hn::IfThenElse(hn::Lt(x, zero), zero, x);
  } else if constexpr (curve == Curve::relu_squared) {
    const CurveVector above = hn::IfThenElse(hn::Lt(x, zero), zero, x);
    return hn::Mul(above, above);
  } else if constexpr (curve == Curve::gelu) {
    const CurveVector tail = hn::Mul(
        half, complementary_error(d, hn::Mul(hn::Abs(x), hn::Set(d, 0.70710678118654752F))));
    return hn::Mul(x, hn::IfThenElse(hn::Lt(x, zero), tail, hn::Sub(one, tail)));
  } else if constexpr (curve == Curve::gelu_by_tanh) {
    const CurveVector cubic = hn::Mul(x, hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.044715F), one));
    const CurveVector bent = hyperbolic_tangent(d, hn::Mul(constant, cubic));
    return hn::Mul(hn::Mul(half, x), hn::Add(one, bent));
  } else {
    const CurveVector most = hn::Set(d, 88.0F);
    const CurveVector power = hn::Neg(hn::Mul(constant, x));
    const CurveVector bounded = hn::IfThenElse(hn::Gt(power, most), most, power);
    return hn::Div(x, hn::Add(one, exponential(d, bounded)));
  }
}

template <Curve curve>
void activate_all(float constant, const float* x, const float* up, std::size_t count, float* y) {
  const CurveTag d;
  const CurveVector factor = hn::Set(d, constant);
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    CurveVector value = curve_of<curve>(d, factor, hn::LoadU(d, x + i));
    if (up != nullptr) value = hn::Mul(value, hn::LoadU(d, up + i));
    hn::StoreU(value, d, y + i);
  }
  if (i == count) return;
  std::array<float, curve_lanes> rest{};
  std::copy_n(x + i, count - i, rest.data());
  hn::StoreU(curve_of<curve>(d, factor, hn::LoadU(d, rest.data())), d, rest.data());
  for (std::size_t k = 0; i < count; ++i, ++k) y[i] = up != nullptr ? rest[k] * up[i] : rest[k];
}

// 2. Numbers in double precision.

using Doubles = hn::ScalableTag<double>;
using Singles = hn::Rebind<float, Doubles>;  // with as many lanes
using DoubleVector = hn::Vec<Doubles>;
constexpr std::size_t double_lanes = hn::MaxLanes(Doubles());

HWY_INLINE DoubleVector load(const double* from) {
  return hn::LoadU(Doubles(), from);
}
HWY_INLINE DoubleVector load(const float* from) {
  return hn::PromoteTo(Doubles(), hn::LoadU(Singles(), from));
}

HWY_INLINE void store(DoubleVector numbers, double* to) {
  hn::StoreU(numbers, Doubles(), to);
}
HWY_INLINE void store(DoubleVector numbers, float* to) {
  hn::StoreU(hn::DemoteTo(Singles(), numbers), Singles(), to);
}

// 3. Sums of rows of weights.

HWY_INLINE double of_lanes(Doubles d, DoubleVector parts) {
  return hn::GetLane(hn::SumOfLanes(d, parts));
}

// ln x of normal numbers x > 0, to 2 units in the last place of |ln x| + 1: x = 2ⁿ·m with m from
// √½ to √2, and ln m = 2 artanh z = 2 (z + z³/3 + z⁵/5 + …) for z = (m − 1) / (m + 1), |z| < 0.172.
HWY_INLINE DoubleVector logarithm(Doubles d, DoubleVector x) {
  const hn::RebindToSigned<Doubles> di;
  const auto constant = [d](double c) { return hn::Set(d, c); };
  // The bits of √½ taken away, what is above the fraction counts from √½.
  const auto root = hn::Set(di, 0x3fe6a09e667f3bcd);
  const auto above = hn::Sub(hn::BitCast(di, x), root);
  const auto exponent = hn::ShiftRight<52>(above);
  const DoubleVector m = hn::BitCast(d, hn::Sub(hn::BitCast(di, x), hn::ShiftLeft<52>(exponent)));
  const DoubleVector one = constant(1);
  const DoubleVector z = hn::Div(hn::Sub(m, one), hn::Add(m, one));
  const DoubleVector w = hn::Mul(z, z);
  DoubleVector y = constant(1.0 / 21);
  for (const double divisor : {19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0}) {
    y = hn::MulAdd(y, w, constant(1.0 / divisor));
  }
  y = hn::MulAdd(y, w, one);
  const DoubleVector n = hn::ConvertTo(d, exponent);
  return hn::MulAdd(n, constant(0.693147180559945309), hn::Mul(hn::Add(z, z), y));
}

template <class T>
RowSums sums_of(const T* row, std::size_t count, double position) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  const DoubleVector zero = hn::Zero(d), one = hn::Set(d, 1.0);
  DoubleVector sum = zero, entropy = zero, distance = zero, largest = zero, positive = zero;
  DoubleVector away = hn::Sub(hn::Iota(d, 0.0), hn::Set(d, position));
  const DoubleVector step = hn::Set(d, static_cast<double>(lanes));
  const auto add = [&](const T* from) {
    const DoubleVector a = load(from);
    const auto some = hn::Gt(a, zero);
    sum = hn::Add(sum, a);
    positive = hn::Add(positive, hn::IfThenElseZero(some, one));
    distance = hn::MulAdd(a, hn::Abs(away), distance);
    away = hn::Add(away, step);
    // In causal rows and in local ones whole vectors are zeros.
    if (hn::AllFalse(d, some)) return;
    largest = hn::IfThenElse(hn::Gt(a, largest), a, largest);
    entropy = hn::NegMulAdd(a, logarithm(d, hn::IfThenElse(some, a, one)), entropy);
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) add(row + i);
  if (i < count) {
    std::array<T, double_lanes> rest{};
    std::copy(row + i, row + count, rest.data());
    add(rest.data());
  }
  RowSums sums;
  sums.sum = of_lanes(d, sum);
  sums.entropy = of_lanes(d, entropy);
  sums.distance = of_lanes(d, distance);
  sums.largest = std::isnan(sums.sum) ? sums.sum : hn::GetLane(hn::MaxOfLanes(d, largest));
  sums.positive = static_cast<std::size_t>(of_lanes(d, positive));
  return sums;
}

// 4. Norms and rotations of rows.

// Σ (x − mean) or Σ (x − mean)², by `power`.
template <int power, class T>
HWY_INLINE double sum_of(const T* row, std::size_t width, double mean) {
  const Doubles d;
  const auto middle = hn::Set(d, mean);
  // Four sums, since an addition takes several cycles.
  DoubleVector sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  const auto add = [&](DoubleVector& sum, std::size_t k) HWY_ATTR {
    const auto x = hn::Sub(load(row + k), middle);
    sum = power == 1 ? hn::Add(sum, x) : hn::MulAdd(x, x, sum);
  };
  std::size_t k = 0;
  for (; k + 4 * double_lanes <= width; k += 4 * double_lanes) {
    for (std::size_t n = 0; n < 4; ++n) add(sums[n], k + n * double_lanes);
  }
  for (; k + double_lanes <= width; k += double_lanes) add(sums[0], k);
  double sum = of_lanes(d, hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3])));
  for (; k < width; ++k) {
    const double x = static_cast<double>(row[k]) - mean;
    sum += power == 1 ? x : x * x;
  }
  return sum;
}

template <class T>
void normalise_row(const T* from, std::size_t width, const RowNorm& norm, T* to) {
  const Doubles d;
  const auto size = static_cast<double>(width);
  const double mean = norm.subtracts_mean ? sum_of<1>(from, width, 0) / size : 0;
  // From the deviations: no cancellation for large means.
  const double factor = 1 / std::sqrt(sum_of<2>(from, width, mean) / size + norm.eps);
  const auto middle = hn::Set(d, mean), by = hn::Set(d, factor);
  std::size_t k = 0;
  for (; k + double_lanes <= width; k += double_lanes) {
    auto y = hn::Mul(hn::Sub(load(from + k), middle), by);
    if (norm.weight != nullptr) y = hn::Mul(y, hn::LoadU(d, norm.weight + k));
    if (norm.bias != nullptr) y = hn::Add(y, hn::LoadU(d, norm.bias + k));
    store(y, to + k);
  }
  for (; k < width; ++k) {
    double y = (static_cast<double>(from[k]) - mean) * factor;
    if (norm.weight != nullptr) y *= norm.weight[k];
    if (norm.bias != nullptr) y += norm.bias[k];
    to[k] = static_cast<T>(y);
  }
}

template <class T>
void normalise_all(const T* x, std::size_t count, std::size_t width, const RowNorm& norm, T* to) {
  for (std::size_t row = 0; row < count; ++row, x += width, to += width) {
    normalise_row(x, width, norm, to);
  }
}

void turn_row(float* row, const RowTurns& turns, std::size_t at) {
  const Doubles d;
  const Singles s;
  const double *cos = turns.cos + at * turns.pairs, *sin = turns.sin + at * turns.pairs;
  const std::size_t pairs = turns.pairs;
  std::size_t n = 0;
  for (; n + double_lanes <= pairs; n += double_lanes) {
    hn::Vec<Singles> first, second;
    if (turns.interleaved) {
      hn::LoadInterleaved2(s, row + 2 * n, first, second);
    } else {
      first = hn::LoadU(s, row + n);
      second = hn::LoadU(s, row + n + pairs);
    }
    const auto a = hn::PromoteTo(d, first), b = hn::PromoteTo(d, second);
    const auto c = hn::LoadU(d, cos + n), t = hn::LoadU(d, sin + n);
    first = hn::DemoteTo(s, hn::MulSub(a, c, hn::Mul(b, t)));
    second = hn::DemoteTo(s, hn::MulAdd(b, c, hn::Mul(a, t)));
    if (turns.interleaved) {
      hn::StoreInterleaved2(first, second, s, row + 2 * n);
    } else {
      hn::StoreU(first, s, row + n);
      hn::StoreU(second, s, row + n + pairs);
    }
  }
  for (; n < pairs; ++n) {
    float& first = row[turns.interleaved ? 2 * n : n];
    float& second = row[turns.interleaved ? 2 * n + 1 : n + pairs];
    const double a = static_cast<double>(first), b = static_cast<double>(second);
    first = static_cast<float>(a * cos[n] - b * sin[n]);
    second = static_cast<float>(b * cos[n] + a * sin[n]);
  }
}

}  // namespace

void activate_by(Curve curve, float constant, const float* x, const float* up, std::size_t count,
                 float* y) {
  switch (curve) {
    case Curve::relu:
      activate_all<Curve::relu>(constant, x, up, count, y);
      break;
    case Curve::relu_squared:
      activate_all<Curve::relu_squared>(constant, x, up, count, y);
      break;
    case Curve::gelu:
      activate_all<Curve::gelu>(constant, x, up, count, y);
      break;
    case Curve::gelu_by_tanh:
      activate_all<Curve::gelu_by_tanh>(constant, x, up, count, y);
      break;
    case Curve::sigmoid:
      activate_all<Curve::sigmoid>(constant, x, up, count, y);
      break;
  }
}

RowSums float_row(const float* row, std::size_t count, double position) {
  return sums_of(row, count, position);
}

RowSums double_row(const double* row, std::size_t count, double position) {
  return sums_of(row, count, position);
}

void normalise_floats(const float* x, std::size_t count, std::size_t width, const RowNorm& norm,
                      float* to) {
  normalise_all(x, count, width, norm, to);
}

void normalise_doubles(const double* x, std::size_t count, std::size_t width, const RowNorm& norm,
                       double* to) {
  normalise_all(x, count, width, norm, to);
}

void prepare_head_rows(const float* from, std::size_t count, std::size_t width, std::size_t stride,
                       const RowNorm* norm, const RowTurns* turns, float* to) {
  for (std::size_t i = 0; i < count; ++i, from += stride, to += stride) {
    if (norm != nullptr) {
      normalise_row(from, width, *norm, to);
    } else {
      std::copy_n(from, width, to);
    }
    if (turns != nullptr) turn_row(to, *turns, i);
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(activate_by);
ATTN_FOR_TARGETS(float_row);
ATTN_FOR_TARGETS(double_row);
ATTN_FOR_TARGETS(normalise_floats);
ATTN_FOR_TARGETS(normalise_doubles);
ATTN_FOR_TARGETS(prepare_head_rows);

void activate(Curve curve, float constant, const float* x, const float* up, std::size_t count,
              float* y) noexcept {
  ATTN_OF_TARGET(activate_by)(curve, constant, x, up, count, y);
}

RowSums row_sums(const float* row, std::size_t count, double position) noexcept {
  return ATTN_OF_TARGET(float_row)(row, count, position);
}

RowSums row_sums(const double* row, std::size_t count, double position) noexcept {
  return ATTN_OF_TARGET(double_row)(row, count, position);
}

void normalise_rows(const float* x, std::size_t count, std::size_t width, const RowNorm& norm,
                    float* to) noexcept {
  ATTN_OF_TARGET(normalise_floats)(x, count, width, norm, to);
}

void normalise_rows(const double* x, std::size_t count, std::size_t width, const RowNorm& norm,
                    double* to) noexcept {
  ATTN_OF_TARGET(normalise_doubles)(x, count, width, norm, to);
}

void prepare_rows(const float* from, std::size_t count, std::size_t width, std::size_t stride,
                  const RowNorm* norm, const RowTurns* turns, float* to) noexcept {
  ATTN_OF_TARGET(prepare_head_rows)(from, count, width, stride, norm, turns, to);
}

}  // namespace attn::kernels
#endif
