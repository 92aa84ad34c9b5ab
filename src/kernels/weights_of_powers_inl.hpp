// Weights from the powers of a row. Compiled once for each CPU target.

#if defined(ATTN_KERNELS_WEIGHTS_OF_POWERS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_WEIGHTS_OF_POWERS_INL
#undef ATTN_KERNELS_WEIGHTS_OF_POWERS_INL
#else
#define ATTN_KERNELS_WEIGHTS_OF_POWERS_INL
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include <hwy/highway.h>

#include "kernels/vector_math_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

// Weights of type W from the powers of a row: powers times a factor. Products below the normal
// numbers of float are slow on processors, so these are made from whole numbers, as multiples of
// 2⁻¹⁴⁹.
template <class T, class W>
class WeightsOfPowers {
 public:
  WeightsOfPowers() = default;
  explicit WeightsOfPowers(double total)
      : times_(static_cast<T>(total == 0 ? 0 : 1 / total)),
        least_(static_cast<T>(total * static_cast<double>(std::numeric_limits<float>::min()))),
        digits_(static_cast<T>(total == 0 ? 0 : 0x1p149 / total)) {}

  HWY_INLINE void put(const T* powers, std::size_t count, W* to) const {
    constexpr std::size_t size = lanes_of<T>;
    const hn::ScalableTag<T> d;
    const hn::Rebind<W, decltype(d)> result;
    std::size_t j = 0;
    if constexpr (sizeof(T) == sizeof(W)) {
      // Small powers are rare: four vectors are tested together.
      const auto least = hn::Set(d, sizeof(W) == sizeof(float) ? least_ : T(-1));
      const auto times = hn::Set(d, times_);
      for (; j + 4 * size <= count; j += 4 * size) {
        const auto a = hn::LoadU(d, powers + j), b = hn::LoadU(d, powers + j + size);
        const auto c = hn::LoadU(d, powers + j + 2 * size);
        const auto e = hn::LoadU(d, powers + j + 3 * size);
        if (!hn::AllFalse(d, hn::Lt(hn::Min(hn::Min(a, b), hn::Min(c, e)), least))) break;
        hn::StoreU(hn::Mul(a, times), d, to + j);
        hn::StoreU(hn::Mul(b, times), d, to + j + size);
        hn::StoreU(hn::Mul(c, times), d, to + j + 2 * size);
        hn::StoreU(hn::Mul(e, times), d, to + j + 3 * size);
      }
    }
    for (; j + size <= count; j += size) {
      hn::StoreU(weights(hn::LoadU(d, powers + j)), result, to + j);
    }
    if (j == count) return;
    HWY_ALIGN std::array<W, size> last;
    hn::StoreU(weights(first_numbers(d, powers + j, count - j)), result, last.data());
    std::copy_n(last.begin(), count - j, to + j);
  }

 private:
  template <class V>
  static HWY_INLINE auto demoted(V x) {
    if constexpr (sizeof(T) == sizeof(W)) {
      return x;
    } else {
      return hn::DemoteTo(hn::Rebind<W, hn::ScalableTag<T>>(), x);
    }
  }

  template <class V>
  HWY_INLINE auto weights(V powers) const {
    const hn::ScalableTag<T> d;
    const auto times = hn::Set(d, times_), least = hn::Set(d, least_);
    if constexpr (sizeof(W) == sizeof(float)) {
      if (!hn::AllFalse(d, hn::Lt(powers, least))) {
        const hn::Rebind<W, decltype(d)> single;
        // Whole steps up to 2²⁴. The lower bound keeps vanishing ones normal until they are
        // rounded.
        const auto digits = hn::Mul(hn::Min(powers, hn::Set(d, 2 * least_)), hn::Set(d, digits_));
        const auto steps = demoted(hn::Max(digits, hn::Set(d, T(0x1p-60))));
        return hn::IfThenElse(hn::Lt(steps, hn::Set(single, 0x1p23F)),
                              hn::BitCast(single, hn::NearestInt(steps)),
                              demoted(hn::Mul(hn::Max(powers, least), times)));
      }
    }
    return demoted(hn::Mul(powers, times));
  }

  T times_ = 0, least_ = 0, digits_ = 0;
};

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
