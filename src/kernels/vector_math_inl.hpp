// Elementary functions on vectors. Compiled once for each CPU target.

#if defined(ATTN_KERNELS_VECTOR_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_VECTOR_MATH_INL
#undef ATTN_KERNELS_VECTOR_MATH_INL
#else
#define ATTN_KERNELS_VECTOR_MATH_INL
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// eˣ for −86.5 ≤ x ≤ 88 and NaN, 0 below; −∞ gives exactly 0. Within 2 units in the last place:
// x = n ln 2 + r with ln 2 in two parts (Cody and Waite 1980), a polynomial of degree 5 in r, whose
// exponent then grows by n.
template <class D, class V>
HWY_INLINE V exponential(D d, V x) {
  const hn::RebindToSigned<D> di;
  // Adding 1.5·2²³ leaves the nearest whole number in the lowest bits.
  const V magic = hn::Set(d, 12582912.0F);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504F), magic);
  const V n = hn::Sub(shifted, magic);
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693145752F), x);
  r = hn::NegMulAdd(n, hn::Set(d, 1.42860677e-6F), r);
  V y = hn::Set(d, 8.31250132e-3F);
  y = hn::MulAdd(y, r, hn::Set(d, 4.18903316e-2F));
  y = hn::MulAdd(y, r, hn::Set(d, 1.66671154e-1F));
  y = hn::MulAdd(y, r, hn::Set(d, 4.99992303e-1F));
  y = hn::MulAdd(y, r, hn::Set(d, 1.0F));
  y = hn::MulAdd(y, r, hn::Set(d, 1.0F));
  const auto bits = hn::Add(hn::BitCast(di, y), hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -86.5F)), hn::BitCast(d, bits));
}

// tanh x: a polynomial near 0 (Cephes' tanhf), 1 − 2 / (1 + e²ˣ) beyond.
template <class D, class V>
HWY_INLINE V hyperbolic_tangent(D d, V x) {
  const V one = hn::Set(d, 1.0F);
  // Beyond 10 the result is 1 to the last bit. NaN passes.
  const V size = hn::Abs(x);
  const V bounded = hn::IfThenElse(hn::Gt(size, hn::Set(d, 10.0F)), hn::Set(d, 10.0F), size);
  const V far = hn::Sub(
      one, hn::Div(hn::Set(d, 2.0F), hn::Add(one, exponential(d, hn::Add(bounded, bounded)))));
  const V z = hn::Mul(x, x);
  V y = hn::Set(d, -5.70498872745e-3F);
  y = hn::MulAdd(y, z, hn::Set(d, 2.06390887954e-2F));
  y = hn::MulAdd(y, z, hn::Set(d, -5.37397155531e-2F));
  y = hn::MulAdd(y, z, hn::Set(d, 1.33314422036e-1F));
  y = hn::MulAdd(y, z, hn::Set(d, -3.33332819422e-1F));
  const V near = hn::MulAdd(hn::Mul(y, z), x, x);
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.625F)), near, hn::CopySign(far, x));
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
