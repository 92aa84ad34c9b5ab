// Rows of scores: what of them a mask leaves, their largest, their exponentials. Scores are in
// units of ln 2, so that 2ˢ is what the softmax sums. Compiled once for each CPU target.

#if defined(ATTN_KERNELS_ATTENTION_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_ATTENTION_ROWS_INL
#undef ATTN_KERNELS_ATTENTION_ROWS_INL
#else
#define ATTN_KERNELS_ATTENTION_ROWS_INL
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include <hwy/highway.h>

#include "kernels/attention_block.hpp"
#include "kernels/tile_inl.hpp"
#include "kernels/vector_math_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

template <class T>
constexpr T infinite = std::numeric_limits<T>::infinity();
constexpr double log2_e = 1.4426950408889634;

// Keys [first, end) of a block.
struct Range {
  std::size_t first, end;
  bool empty() const { return first >= end; }
  Range within(std::size_t base, std::size_t count) const {
    const Range part{std::clamp(first, base, base + count) - base,
                     std::clamp(end, base, base + count) - base};
    return part.empty() ? Range{0, 0} : part;
  }
};

// What the rows of a strip see: the first key that any or all of them see, and the last.
struct StripView {
  std::size_t row, rows;
  Range any, all;
};

template <class T>
StripView view_of(const BlockMask<T>& mask, std::size_t row, std::size_t rows) {
  constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  StripView view{row, rows, {none, 0}, {0, none}};
  for (std::size_t i = row; i < row + rows; ++i) {
    const Range seen{mask.first[i], mask.end[i]};
    view.all.first = std::max(view.all.first, seen.first);
    view.all.end = std::min(view.all.end, seen.end);
    if (seen.empty()) continue;
    view.any.first = std::min(view.any.first, seen.first);
    view.any.end = std::max(view.any.end, seen.end);
  }
  if (view.any.empty()) view.any = {0, 0};
  return view;
}

// A score and what a mask adds to it.
template <class T>
HWY_INLINE T with_added(T score, T term) {
  if (term == -infinite<T>) return term;
  // A NaN of a bias may have digits, which power_of_two() does not pass on.
  return term == term ? score + term * static_cast<T>(log2_e) : std::numeric_limits<T>::quiet_NaN();
}

// The weight of a value that is not finite: however small, it does not turn infinity into NaN.
template <class T>
HWY_INLINE T odd_weight(T score, T shift) {
  return std::isnan(score) ? score
                           : std::max(std::numeric_limits<T>::min(), std::exp2(score - shift));
}

// Softcap, bias and mask of one row's scores within the range; −∞ from there to `whole`. `room`
// takes the terms that are added.
template <class T>
void mask_scores(const BlockMask<T>& mask, T softcap, std::size_t query, std::size_t base,
                 const Range& range, const Range& whole, T* scores, T* room) {
  const hn::ScalableTag<T> d;
  if (softcap > 0 && !range.empty()) {
    const auto cap = hn::Set(d, softcap);
    // Whole vectors: what lies beyond the range is overwritten below.
    for (std::size_t j = range.first / lanes_of<T> * lanes_of<T>; j < range.end; j += lanes_of<T>) {
      const auto x = hn::Div(hn::LoadU(d, scores + j), cap);
      hn::StoreU(hn::Mul(cap, hyperbolic_tangent(d, x)), d, scores + j);
    }
  }
  if (mask.added != nullptr && !range.empty()) {
    mask.added(mask.context, query, base + range.first, range.end - range.first, room);
    for (std::size_t j = range.first; j < range.end; ++j) {
      scores[j] = with_added(scores[j], room[j - range.first]);
    }
  }
  const std::size_t first = range.empty() ? whole.end : range.first;
  std::fill(scores + whole.first, scores + first, -infinite<T>);
  if (!range.empty()) std::fill(scores + range.end, scores + whole.end, -infinite<T>);
}

// The larger, or `second` if one is NaN.
template <class D, class V>
HWY_INLINE V larger(D, V first, V second) {
#if HWY_TARGET == HWY_SCALAR
  return hn::IfThenElse(hn::Gt(first, second), first, second);
#else
  return hn::Max(first, second);
#endif
}

// Whether one of the scores exceeds `largest`, which then becomes their largest. NaN aside, which
// enters through the sums alone.
template <class T>
HWY_INLINE bool exceeded(const T* scores, const Range& range, T& largest) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t step = lanes_of<T>;
  auto a = hn::Set(d, largest), b = a, c = a, e = a;
  std::size_t j = range.first;
  for (; j + 4 * step <= range.end; j += 4 * step) {
    a = larger(d, hn::LoadU(d, scores + j), a);
    b = larger(d, hn::LoadU(d, scores + j + step), b);
    c = larger(d, hn::LoadU(d, scores + j + 2 * step), c);
    e = larger(d, hn::LoadU(d, scores + j + 3 * step), e);
  }
  for (; j < range.end; j += step) a = larger(d, hn::LoadU(d, scores + j), a);
  a = hn::Max(hn::Max(a, b), hn::Max(c, e));
  if (hn::AllFalse(d, hn::Gt(a, hn::Set(d, largest)))) return false;
  largest = hn::GetLane(hn::MaxOfLanes(d, a));
  return true;
}

// What the scores of a row are shifted by: about their largest.
template <class T>
struct Shift {
  T value;   ///< 2^(score − value) is what is summed
  T turned;  ///< as power_of_two() takes it

  static Shift of(T largest) {
    // Beyond that range the largest itself is subtracted from the scores beforehand.
    if (!(std::abs(largest) < T(1 << 20))) return {largest, rounding<T>};
    const T turned = turned_shift(largest);
    return {shift_of(turned), turned};
  }
  bool outside() const { return turned == rounding<T> && value != 0; }
};

template <class T>
void subtract(T* scores, const Range& range, T value) {
  for (std::size_t j = range.first; j < range.end; ++j) scores[j] -= value;
}

// 2^(score − shift) in place, for scores that shift.outside() does not tell to be subtracted from
// first. Adds them to `total`, a vector.
template <bool hidden, class T>
HWY_INLINE void exponentials(T* scores, const Range& range, const Shift<T>& shift, T* total) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t step = lanes_of<T>;
  const auto turned = hn::Set(d, shift.turned);
  const auto least = hn::Set(d, least_power(shift_of(shift.turned)));
  auto a = hn::LoadU(d, total), b = hn::Zero(d);
  std::size_t j = range.first;
  for (; j + 2 * step <= range.end; j += 2 * step) {
    const auto x = power_of_two<hidden>(d, hn::LoadU(d, scores + j), turned, least);
    const auto y = power_of_two<hidden>(d, hn::LoadU(d, scores + j + step), turned, least);
    hn::StoreU(x, d, scores + j);
    hn::StoreU(y, d, scores + j + step);
    a = hn::Add(a, x);
    b = hn::Add(b, y);
  }
  for (; j < range.end; j += step) {
    const auto x = power_of_two<hidden>(d, hn::LoadU(d, scores + j), turned, least);
    hn::StoreU(x, d, scores + j);
    a = hn::Add(a, x);
  }
  hn::StoreU(hn::Add(a, b), d, total);
}

template <class T>
HWY_INLINE void multiply(T* row, std::size_t count, T factor) {
  for (std::size_t i = 0; i < count; ++i) row[i] *= factor;
}

// What a row holds.
template <class T>
struct Extent {
  T largest = 0;  ///< of the absolute values that are finite
  bool finite = true;
};

// x·0 is 0 for every finite x.
template <class T>
Extent<T> extent_of(const T* row, std::size_t width) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t size = lanes_of<T>;
  const auto zero = hn::Zero(d);
  auto a = zero, b = zero, odd = zero, other = zero;
  std::size_t k = 0;
  for (; k + 2 * size <= width; k += 2 * size) {
    const auto x = hn::LoadU(d, row + k), y = hn::LoadU(d, row + k + size);
    odd = hn::MulAdd(x, zero, odd);
    other = hn::MulAdd(y, zero, other);
    a = larger(d, hn::Abs(x), a);
    b = larger(d, hn::Abs(y), b);
  }
#if HWY_MEM_OPS_MIGHT_FAULT
  constexpr bool partial_loads = false;
#else
  constexpr bool partial_loads = true;
#endif
  if constexpr (partial_loads) {
    for (; k < width; k += size) {
      const auto x = hn::MaskedLoad(hn::FirstN(d, width - k), d, row + k);
      odd = hn::MulAdd(x, zero, odd);
      a = larger(d, hn::Abs(x), a);
    }
  }
  Extent<T> extent;
  extent.finite = hn::AllTrue(d, hn::Eq(hn::Add(odd, other), zero));
  extent.largest = hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
  const std::size_t first = extent.finite ? k : 0;
  if (!extent.finite) extent.largest = 0;
  for (k = first; k < width; ++k) {
    const T x = std::abs(row[k]);
    if (x < infinite<T>) {
      extent.largest = std::max(extent.largest, x);
    } else {
      extent.finite = false;
    }
  }
  return extent;
}

template <class T>
bool all_finite(const T* row, std::size_t width) {
  return extent_of(row, width).finite;
}

// Whether sums of `count` products of numbers up to these sizes, and what is made of them, stay in
// the range of T.
template <class T>
bool products_fit(T first, T second, std::size_t count) {
  return static_cast<double>(first) * static_cast<double>(second) * static_cast<double>(count) <
         static_cast<double>(std::numeric_limits<T>::max()) / 4;
}

// The same of the sums of `keys` values, each times a power that may be 2.
template <class T>
bool values_fit(T largest, std::size_t keys) {
  return products_fit(largest, T(2), keys);
}

// NaN may have digits, which power_of_two() does not pass on.
template <class T>
void forget_digits(T* row, std::size_t count, std::size_t stride) {
  for (std::size_t k = 0; k < count; ++k) {
    T& x = row[k * stride];
    if (x != x) x = std::numeric_limits<T>::quiet_NaN();
  }
}

// pack_columns() of rows that may hold NaN. Returns the largest absolute value of what is packed,
// among those that come from finite numbers.
template <std::size_t unit, class T>
T pack_rows(const T* const* rows, std::size_t count, std::size_t width, T factor, T* packed) {
  T largest = 0;
  for (std::size_t first = 0; first < count; first += unit) {
    T* panel = packed + first * width;
    const std::size_t present = std::min(unit, count - first);
    pack_columns<unit>(rows + first, present, width, factor, panel);
    const Extent<T> extent = extent_of(panel, unit * width);
    largest = std::max(largest, extent.largest);
    if (extent.finite) continue;
    forget_digits(panel, unit * width, 1);
    // A finite number may have left the range by the factor.
    for (std::size_t r = first; r < first + present; ++r) {
      largest = std::max(largest, extent_of(rows[r], width).largest * std::abs(factor));
    }
  }
  return largest;
}

// Scores of the strips with the panels that hold keys base + [range): c[r, key − base], for strips
// of tile_rows queries, packed one after the other. With several strips a panel is read once for
// all.
template <class T>
HWY_INLINE void multiply_panels(const T* queries, std::size_t strips, const T* keys,
                                std::size_t width, const Range& range, T* c, std::size_t stride) {
  constexpr std::size_t columns = columns_of<T>;
  constexpr std::size_t depth_block = 256;
  for (std::size_t k = 0; k < width; k += depth_block) {
    const std::size_t depth = std::min(depth_block, width - k);
    for (std::size_t column = range.first / columns * columns; column < range.end;
         column += columns) {
      const T* panel = keys + column * width + k * columns;
      for (std::size_t strip = 0; strip < strips; ++strip) {
        const std::size_t row = strip * tile_rows;
        multiply_tile<true>(queries + row * width + k * tile_rows, 0, panel, depth,
                            c + row * stride + column, stride, k > 0);
      }
    }
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
