#include "kernels/activation.hpp"

#include <algorithm>
#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/target_dispatch.hpp"
#include "kernels/vector_math_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
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

void activate_by(Curve curve, float constant, const float* x, const float* up, std::size_t count,
                 float* y) {
  switch (curve) {
    case Curve::relu:
      activate_all<Curve::relu>(constant, x, up, count, y);
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

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(activate_by);

void activate(Curve curve, float constant, const float* x, const float* up, std::size_t count,
              float* y) noexcept {
  ATTN_OF_TARGET(activate_by)(curve, constant, x, up, count, y);
}

}  // namespace attn::kernels
#endif
