#include "kernels/row_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using SumTag = hn::ScalableTag<double>;
using SumVector = hn::Vec<SumTag>;
constexpr std::size_t sum_lanes = hn::MaxLanes(SumTag());

HWY_INLINE SumVector load_numbers(SumTag d, const double* from) {
  return hn::LoadU(d, from);
}

HWY_INLINE SumVector load_numbers(SumTag d, const float* from) {
  const hn::Rebind<float, SumTag> narrow;
  return hn::PromoteTo(d, hn::LoadU(narrow, from));
}

HWY_INLINE double of_lanes(SumTag d, SumVector parts) {
  return hn::GetLane(hn::SumOfLanes(d, parts));
}

// ln x of normal numbers x > 0, to 2 units in the last place of |ln x| + 1: x = 2ⁿ·m with m from
// √½ to √2, and ln m = 2 artanh z = 2 (z + z³/3 + z⁵/5 + …) for z = (m − 1) / (m + 1), |z| < 0.172.
HWY_INLINE SumVector logarithm(SumTag d, SumVector x) {
  const hn::RebindToSigned<SumTag> di;
  const auto constant = [d](double c) { return hn::Set(d, c); };
  // The bits of √½ taken away, what is above the fraction counts from √½.
  const auto root = hn::Set(di, 0x3fe6a09e667f3bcd);
  const auto above = hn::Sub(hn::BitCast(di, x), root);
  const auto exponent = hn::ShiftRight<52>(above);
  const SumVector m = hn::BitCast(d, hn::Sub(hn::BitCast(di, x), hn::ShiftLeft<52>(exponent)));
  const SumVector one = constant(1);
  const SumVector z = hn::Div(hn::Sub(m, one), hn::Add(m, one));
  const SumVector w = hn::Mul(z, z);
  SumVector y = constant(1.0 / 21);
  for (const double divisor : {19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0}) {
    y = hn::MulAdd(y, w, constant(1.0 / divisor));
  }
  y = hn::MulAdd(y, w, one);
  const SumVector n = hn::ConvertTo(d, exponent);
  return hn::MulAdd(n, constant(0.693147180559945309), hn::Mul(hn::Add(z, z), y));
}

template <class T>
RowSums sums_of(const T* row, std::size_t count, double position) {
  const SumTag d;
  const std::size_t lanes = hn::Lanes(d);
  const SumVector zero = hn::Zero(d), one = hn::Set(d, 1.0);
  SumVector sum = zero, entropy = zero, distance = zero, largest = zero, positive = zero;
  SumVector away = hn::Sub(hn::Iota(d, 0.0), hn::Set(d, position));
  const SumVector step = hn::Set(d, static_cast<double>(lanes));
  const auto add = [&](const T* from) {
    const SumVector a = load_numbers(d, from);
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
    std::array<T, sum_lanes> rest{};
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

RowSums float_row(const float* row, std::size_t count, double position) {
  return sums_of(row, count, position);
}

RowSums double_row(const double* row, std::size_t count, double position) {
  return sums_of(row, count, position);
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(float_row);
ATTN_FOR_TARGETS(double_row);

RowSums row_sums(const float* row, std::size_t count, double position) noexcept {
  return ATTN_OF_TARGET(float_row)(row, count, position);
}

RowSums row_sums(const double* row, std::size_t count, double position) noexcept {
  return ATTN_OF_TARGET(double_row)(row, count, position);
}

}  // namespace attn::kernels
#endif
