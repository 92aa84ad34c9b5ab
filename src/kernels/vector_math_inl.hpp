// Elementary functions on vectors. Compiled once for each CPU target.

#if defined(ATTN_KERNELS_VECTOR_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_VECTOR_MATH_INL
#undef ATTN_KERNELS_VECTOR_MATH_INL
#else
#define ATTN_KERNELS_VECTOR_MATH_INL
#endif

#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The larger of two vectors, lane by lane; `second` if one is NaN.
template <class D, class V>
HWY_INLINE V larger(D, V first, V second) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Max(first, second);
#else  // there Max prefers the number
  return hn::IfThenElse(hn::Gt(first, second), first, second);
#endif
}

// The numbers of float16 whose bits stand at `from`, a vector of floats of them, NaN and infinity
// too, which Highway makes finite where the processor has no instruction for it.
template <class D>
HWY_INLINE hn::Vec<D> float16_numbers(D d, const std::uint16_t* from) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || (HWY_ARCH_X86 && HWY_TARGET >= HWY_SSE4)
  const hn::Rebind<std::uint32_t, D> words;
  const auto bits = hn::PromoteTo(words, hn::LoadU(hn::Rebind<std::uint16_t, D>(), from));
  const auto size = hn::And(bits, hn::Set(words, 0x7FFF));
  // Exponents of floats are larger by 112, which is exact for numbers below the normal ones too.
  const auto number = hn::Mul(hn::BitCast(d, hn::ShiftLeft<13>(size)), hn::Set(d, 0x1p112F));
  const auto special = hn::VecFromMask(words, hn::Gt(size, hn::Set(words, 0x7BFF)));
  const auto exponent = hn::And(special, hn::Set(words, 0x7F800000));
  const auto sign = hn::ShiftLeft<16>(hn::Xor(bits, size));
  return hn::BitCast(d, hn::Or(hn::Or(hn::BitCast(words, number), exponent), sign));
#else
  const hn::Rebind<hwy::float16_t, D> halves;
  return hn::PromoteTo(d, hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(from)));
#endif
}

// eˣ for −86.5 ≤ x ≤ 88 (−708 ≤ x ≤ 709) and NaN, 0 below; −∞ gives exactly 0. Within 2 units in
// the last place: x = n ln 2 + r with ln 2 in two parts (Cody and Waite 1980), a polynomial in r,
// of degree 5 or Taylor's of degree 13, whose exponent then grows by n.
template <class D, class V>
HWY_INLINE V exponential(D d, V x) {
  using T = hn::TFromD<D>;
  constexpr bool single = sizeof(T) == 4;
  const hn::RebindToSigned<D> di;
  const auto constant = [d](double c) { return hn::Set(d, static_cast<T>(c)); };
  // Adding 1.5·2²³ (1.5·2⁵²) leaves the nearest whole number in the lowest bits.
  const V magic = constant(single ? 12582912.0 : 6755399441055744.0);
  const V shifted = hn::MulAdd(x, constant(1.4426950408889634), magic);
  const V n = hn::Sub(shifted, magic);
  V r = hn::NegMulAdd(n, constant(single ? 0.693145752 : 0x1.62e42feep-1), x);
  r = hn::NegMulAdd(n, constant(single ? 1.42860677e-6 : 0x1.a39ef35793c76p-33), r);
  V y;
  if constexpr (single) {
    y = constant(8.31250132e-3);
    y = hn::MulAdd(y, r, constant(4.18903316e-2));
    y = hn::MulAdd(y, r, constant(1.66671154e-1));
    y = hn::MulAdd(y, r, constant(4.99992303e-1));
  } else {
    y = constant(1.0 / 6227020800);
    for (const double factorial : {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0,
                                   720.0, 120.0, 24.0, 6.0, 2.0}) {
      y = hn::MulAdd(y, r, constant(1 / factorial));
    }
  }
  y = hn::MulAdd(y, r, constant(1.0));
  y = hn::MulAdd(y, r, constant(1.0));
  constexpr int fraction_bits = single ? 23 : 52;
  const auto bits =
      hn::Add(hn::BitCast(di, y), hn::ShiftLeft<fraction_bits>(hn::BitCast(di, shifted)));
  return hn::IfThenZeroElse(hn::Lt(x, constant(single ? -86.5 : -708.0)), hn::BitCast(d, bits));
}

// A shift as power_of_two() takes it: the number whose sum with x has the whole number nearest to
// x − shift in its lowest bits. shift_of() returns the shift, rounded to a whole number.
// |shift| < 2²⁰.
template <class T>
constexpr T rounding = sizeof(T) == 4 ? T(12582912) : T(6755399441055744);  // 1.5·2²³, 1.5·2⁵²
template <class T>
HWY_INLINE T turned_shift(T shift) {
  return rounding<T> - shift;
}
template <class T>
HWY_INLINE T shift_of(T turned) {
  return rounding<T> - turned;
}

// 2^(x − shift) times a constant within 1e-7 (1e-17) of 1, to a relative 2e-7 (4e-16). No rounding
// but the result's takes place before the polynomial: x + turned is a whole number, and x minus
// that number's share is exact. The polynomial, of degree 5 (11), has the least relative error
// from −½ to ½ (Remez's algorithm), divided by its value at 0. Below 2^−125 (2^−1021) the result is
// 0 with `hidden`, which −∞ needs, and otherwise stays at that; with `bounded` there is nothing
// below. NaN stays NaN.
template <bool hidden, bool bounded = false, class D, class V>
HWY_INLINE V power_of_two(D d, V x, V turned, V least) {
  using T = hn::TFromD<D>;
  const hn::RebindToSigned<D> di;
  const V given = x;
  if constexpr (!hidden && !bounded) x = larger(d, least, x);
  const V sum = hn::Add(x, turned);
  const V r = hn::Sub(x, hn::Sub(sum, turned));
  const auto constant = [d](double c) { return hn::Set(d, static_cast<T>(c)); };
  V y;
  if constexpr (sizeof(T) == 4) {
    y = constant(0.00132764712164991561);
    y = hn::MulAdd(y, r, constant(0.00967554063772399409));
  } else {
    y = constant(4.43528094461033617e-10);
    y = hn::MulAdd(y, r, constant(7.07410562624565939e-9));
    y = hn::MulAdd(y, r, constant(1.01781980333285277e-7));
    y = hn::MulAdd(y, r, constant(1.32154330895946291e-6));
    y = hn::MulAdd(y, r, constant(1.52527334899608046e-5));
    y = hn::MulAdd(y, r, constant(0.000154035304625146131));
    y = hn::MulAdd(y, r, constant(0.00133335581467899504));
    y = hn::MulAdd(y, r, constant(0.00961812910758833511));
  }
  constexpr bool single = sizeof(T) == 4;
  y = hn::MulAdd(y, r, constant(single ? 0.0555071287514104927 : 0.0555041086648199216));
  y = hn::MulAdd(y, r, constant(single ? 0.240221180026729212 : 0.240226506959101563));
  y = hn::MulAdd(y, r, constant(single ? 0.693146917398070959 : 0.693147180559945332));
  y = hn::MulAdd(y, r, constant(1.0));
  constexpr int fraction_bits = single ? 23 : 52;
  const auto bits = hn::Add(hn::BitCast(di, y), hn::ShiftLeft<fraction_bits>(hn::BitCast(di, sum)));
  if constexpr (!hidden) return hn::BitCast(d, bits);
  return hn::IfThenZeroElse(hn::Lt(given, least), hn::BitCast(d, bits));
}

// The least x for which power_of_two() computes: 2^(x − shift) is a normal number.
template <class T>
HWY_INLINE T least_power(T shift) {
  return shift - (sizeof(T) == 4 ? T(125) : T(1021));
}

// tanh x: a polynomial (float) or a rational function (double) near 0 (Cephes' tanhf and tanh),
// 1 − 2 / (1 + e²ˣ) beyond.
template <class D, class V>
HWY_INLINE V hyperbolic_tangent(D d, V x) {
  using T = hn::TFromD<D>;
  const auto constant = [d](double c) { return hn::Set(d, static_cast<T>(c)); };
  const V one = constant(1.0);
  // Beyond that the result is 1 to the last bit. NaN passes.
  const V most = constant(sizeof(T) == 4 ? 10.0 : 20.0);
  const V size = hn::Abs(x);
  const V bounded = hn::IfThenElse(hn::Gt(size, most), most, size);
  const V power = power_of_two<false>(d, hn::Mul(bounded, constant(2 * 1.4426950408889634)),
                                      hn::Set(d, rounding<T>), constant(0.0));
  const V far = hn::Sub(one, hn::Div(constant(2.0), hn::Add(one, power)));
  const V z = hn::Mul(x, x);
  V y;
  if constexpr (sizeof(T) == 4) {
    y = constant(-5.70498872745e-3);
    y = hn::MulAdd(y, z, constant(2.06390887954e-2));
    y = hn::MulAdd(y, z, constant(-5.37397155531e-2));
    y = hn::MulAdd(y, z, constant(1.33314422036e-1));
    y = hn::MulAdd(y, z, constant(-3.33332819422e-1));
  } else {
    V above = constant(-9.64399179425052238628e-1), below = one;
    above = hn::MulAdd(above, z, constant(-9.92877231001918586564e1));
    above = hn::MulAdd(above, z, constant(-1.61468768441708447952e3));
    below = hn::MulAdd(below, z, constant(1.12811678491632931402e2));
    below = hn::MulAdd(below, z, constant(2.23548839060100448583e3));
    below = hn::MulAdd(below, z, constant(4.84406305325125486048e3));
    y = hn::Div(above, below);
  }
  const V near = hn::MulAdd(hn::Mul(y, z), x, x);
  return hn::IfThenElse(hn::Lt(size, constant(0.625)), near, hn::CopySign(far, x));
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
