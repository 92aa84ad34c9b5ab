// Rows of scores of a type of 16 bits: from products to weights, each step rounded. Compiled once
// for each CPU target.

#if defined(ATTN_KERNELS_ROUNDED_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_ROUNDED_ROWS_INL
#undef ATTN_KERNELS_ROUNDED_ROWS_INL
#else
#define ATTN_KERNELS_ROUNDED_ROWS_INL
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "kernels/attention_rows_inl.hpp"
#include "kernels/rounded_attention.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

using RoundedType = StepRounding::Type;

// The number of the type that is nearest, halves to even. Beyond the range of float16 it is one
// that is no number of it, which largest_number tells.
template <RoundedType type, class D, class V>
HWY_INLINE V nearest(D d, V x) {
  const hn::RebindToUnsigned<D> words;
  const auto bits = hn::BitCast(words, x);
  if constexpr (type == RoundedType::bfloat16) {
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1U));
    const auto moved = hn::Add(bits, hn::Add(odd, hn::Set(words, 0x7FFFU)));
    return hn::BitCast(d, hn::And(moved, hn::Set(words, 0xFFFF0000U)));
  } else {
    // Added to a number so much larger that 11 digits of x are left, 2⁻²⁴ at the least.
    const auto power = hn::BitCast(d, hn::And(bits, hn::Set(words, 0x7F800000U)));
    const auto larger_one =
        hn::Mul(hn::Max(power, hn::Set(d, 0x1p-14F)), hn::Set(d, 12288.0F));  // 1.5 · 2¹³
    return hn::Sub(hn::Add(x, larger_one), larger_one);
  }
}

template <RoundedType type>
constexpr float largest_number = type == RoundedType::bfloat16 ? 0x1.FEp127F : 65504.0F;

// What is done to every row of a block.
template <RoundedType type>
class RoundedRows {
 public:
  // `room` takes what a mask adds to a row.
  RoundedRows(const QueryBlock<float>& block, bool wide_weights, float* room)
      : block_(block),
        wide_(wide_weights),
        scale_(static_cast<float>(block.scale)),
        cap_(static_cast<float>(block.softcap)),
        room_(room) {}

  // Turns the products of a row and the keys `whole`, whole vectors, into weights of the type in
  // their place. `weights`, if not null, takes them as they are before the product with the values:
  // a row of all keys.
  HWY_INLINE void weigh(std::size_t row, const Range& whole, float* scores, float* weights,
                        BlockOutcome& outcome) const {
    const Range own = Range{block_.mask.first[row], block_.mask.end[row]}.within(0, whole.end);
    float largest = -infinite<float>;
    if (!round_scores(whole, scores)) outcome.out_of_range = true;
    mask_scores(block_.mask, 0.0F, row, 0, own, whole, scores, room_, 1.0F);
    exceeded(scores, whole, largest);
    if (largest == -infinite<float>) {
      ++outcome.empty_rows;
      std::fill(scores + whole.first, scores + whole.end, 0.0F);
      if (weights != nullptr) std::fill(weights, weights + block_.sizes.keys, 0.0F);
      return;
    }
    const auto sink = static_cast<float>(block_.sink);
    const float shift = std::max(largest, sink);
    const double total =
        exponentials_of(whole, shift, scores) + std::exp(block_.sink - static_cast<double>(shift));
    if (!std::isfinite(total)) outcome.out_of_range = true;
    if (weights == nullptr) {
      divide<false>(whole, static_cast<float>(1 / total), scores, nullptr);
      return;
    }
    divide<true>(whole, static_cast<float>(1 / total), scores, weights);
    std::fill(weights, weights + whole.first, 0.0F);
    if (whole.end < block_.sizes.keys) {
      std::fill(weights + whole.end, weights + block_.sizes.keys, 0.0F);
    }
  }

 private:
  using Tag = hn::ScalableTag<float>;
  using V = hn::Vec<Tag>;
  static constexpr std::size_t step = lanes_of<float>;

  // Scale and softcap; false if a number leaves the range.
  HWY_INLINE bool round_scores(const Range& whole, float* scores) const {
    const Tag d;
    const V scale = hn::Set(d, scale_), cap = hn::Set(d, cap_);
    V most = hn::Zero(d);
    for (std::size_t j = whole.first; j < whole.end; j += step) {
      const V product = nearest<type>(d, hn::LoadU(d, scores + j));
      V x = nearest<type>(d, hn::Mul(product, scale));
      most = larger(d, hn::Abs(product), larger(d, hn::Abs(x), most));
      if (cap_ > 0) {
        x = nearest<type>(d, hyperbolic_tangent(d, nearest<type>(d, hn::Div(x, cap))));
        x = nearest<type>(d, hn::Mul(cap, x));
      }
      hn::StoreU(x, d, scores + j);
    }
    return hn::AllTrue(d, hn::Le(most, hn::Set(d, largest_number<type>)));
  }

  // eˢ⁻ˢʰⁱᶠᵗ in place, and their sum, in parts of few keys (LongSums says why).
  static HWY_INLINE double exponentials_of(const Range& whole, float shift, float* scores) {
    const Tag d;
    const V shifted = hn::Set(d, shift);
    double total = 0;
    for (std::size_t j = whole.first; j < whole.end;) {
      const std::size_t end = std::min(whole.end, j + 64 * step);
      V a = hn::Zero(d), b = a;
      for (; j + 2 * step <= end; j += 2 * step) {
        const V x = exponential(d, hn::Sub(hn::LoadU(d, scores + j), shifted));
        const V y = exponential(d, hn::Sub(hn::LoadU(d, scores + j + step), shifted));
        hn::StoreU(x, d, scores + j);
        hn::StoreU(y, d, scores + j + step);
        a = hn::Add(a, x);
        b = hn::Add(b, y);
      }
      for (; j < end; j += step) {
        const V x = exponential(d, hn::Sub(hn::LoadU(d, scores + j), shifted));
        hn::StoreU(x, d, scores + j);
        a = hn::Add(a, x);
      }
      total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b))));
    }
    return total;
  }

  // Exponentials as weights.
  template <bool wanted>
  HWY_INLINE void divide(const Range& whole, float factor, float* scores, float* weights) const {
    const Tag d;
    const V by = hn::Set(d, factor);
    const std::size_t keys = block_.sizes.keys;
    for (std::size_t j = whole.first; j < whole.end; j += step) {
      const V exact = hn::Mul(hn::LoadU(d, scores + j), by);
      const V weight = nearest<type>(d, exact);
      hn::StoreU(weight, d, scores + j);
      if constexpr (wanted) {
        const V shown = wide_ ? exact : weight;
        if (j + step <= keys) {
          hn::StoreU(shown, d, weights + j);
        } else if (j < keys) {
          HWY_ALIGN std::array<float, step> last;
          hn::StoreU(shown, d, last.data());
          std::copy_n(last.begin(), keys - j, weights + j);
        }
      }
    }
  }

  const QueryBlock<float>& block_;
  bool wide_;
  float scale_, cap_;
  float* room_;
};

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
