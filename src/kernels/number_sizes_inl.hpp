// Sizes of the numbers of rows, and limits within which sums of them keep to the range and the
// digits of a type. Compiled once for each CPU target.

#if defined(ATTN_KERNELS_NUMBER_SIZES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_NUMBER_SIZES_INL
#undef ATTN_KERNELS_NUMBER_SIZES_INL
#else
#define ATTN_KERNELS_NUMBER_SIZES_INL
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include <hwy/highway.h>

#include "kernels/tile_inl.hpp"
#include "kernels/vector_math_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

template <class T>
constexpr T infinite = std::numeric_limits<T>::infinity();
constexpr double log2_e = 1.4426950408889634;

// Terms of a score that are summed one after the other.
constexpr std::size_t score_depth = 128;

// The first `count` numbers of a row as a vector; zeros in the other lanes.
template <class D, class T>
HWY_INLINE auto first_numbers(D d, const T* row, std::size_t count) {
#if HWY_MEM_OPS_MIGHT_FAULT || HWY_TARGET == HWY_SCALAR  // masked lanes are read there
  HWY_ALIGN T part[lanes_of<T>] = {};
  std::copy_n(row, std::min(count, lanes_of<T>), part);
  return hn::Load(d, part);
#else
  return hn::MaskedLoad(hn::FirstN(d, count), d, row);
#endif
}

// The extent of the numbers of rows.
template <class T>
struct Extent {
  T largest = 0;  ///< largest absolute value of the finite ones
  bool finite = true;
};

// The extent of some rows together; {0, false} if any number is not finite.
template <class T>
Extent<T> extent_of(const T* const* rows, std::size_t count, std::size_t width) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t size = lanes_of<T>;
  const auto zero = hn::Zero(d);
  auto a = zero, b = zero, not_finite = zero, other = zero;
  // x·0 is 0 for every finite x.
  for (std::size_t i = 0; i < count; ++i) {
    const T* const row = rows[i];
    std::size_t k = 0;
    for (; k + 2 * size <= width; k += 2 * size) {
      const auto x = hn::LoadU(d, row + k), y = hn::LoadU(d, row + k + size);
      not_finite = hn::MulAdd(x, zero, not_finite);
      other = hn::MulAdd(y, zero, other);
      a = larger(d, hn::Abs(x), a);
      b = larger(d, hn::Abs(y), b);
    }
    if (k + size <= width) {
      const auto x = hn::LoadU(d, row + k);
      not_finite = hn::MulAdd(x, zero, not_finite);
      a = larger(d, hn::Abs(x), a);
      k += size;
    }
    if (k < width) {
      const auto x = first_numbers(d, row + k, width - k);
      not_finite = hn::MulAdd(x, zero, not_finite);
      a = larger(d, hn::Abs(x), a);
    }
  }
  if (!hn::AllTrue(d, hn::Eq(hn::Add(not_finite, other), zero))) return {0, false};
  return {hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b))), true};
}

template <class T>
Extent<T> extent_of(const T* row, std::size_t width) {
  Extent<T> extent = extent_of(&row, 1, width);
  for (std::size_t k = 0; !extent.finite && k < width; ++k) {
    const T x = std::abs(row[k]);
    if (x < infinite<T>) extent.largest = std::max(extent.largest, x);
  }
  return extent;
}

template <class T>
bool all_finite(const T* row, std::size_t width) {
  return extent_of(row, width).finite;
}

// Σ x² lane by lane; not finite if a number is not, or if a sum leaves the range.
template <class D, class T>
HWY_INLINE auto squares_in_lanes(D d, const T* row, std::size_t width) {
  constexpr std::size_t size = lanes_of<T>;
  auto a = hn::Zero(d), b = a;
  std::size_t k = 0;
  for (; k + 2 * size <= width; k += 2 * size) {
    const auto x = hn::LoadU(d, row + k), y = hn::LoadU(d, row + k + size);
    a = hn::MulAdd(x, x, a);
    b = hn::MulAdd(y, y, b);
  }
  for (; k < width; k += size) {
    const auto x = first_numbers(d, row + k, width - k);
    a = hn::MulAdd(x, x, a);
  }
  return hn::Add(a, b);
}

template <class T>
HWY_INLINE T squares_of(const T* row, std::size_t width) {
  const hn::ScalableTag<T> d;
  return hn::GetLane(hn::SumOfLanes(d, squares_in_lanes(d, row, width)));
}

// An upper bound of the length of a row of `width` numbers whose squares add up to `squares`:
// squares below the range of T are lost, and the sum is rounded.
template <class T>
T length_of_squares(T squares, std::size_t width) {
  const T lost = static_cast<T>(width) * std::numeric_limits<T>::min();
  return T(1.001) * std::sqrt(squares + lost);
}

// An upper bound of the length of a row without its numbers that are not finite; infinity beyond
// the range of T.
template <class T>
T length_of(const T* row, std::size_t width) {
  const T squares = squares_of(row, width);
  if (squares < infinite<T>) return length_of_squares(squares, width);
  double sum = 0;
  for (std::size_t k = 0; k < width; ++k) {
    const auto x = static_cast<double>(row[k]);
    if (std::isfinite(x)) sum += x * x;
  }
  return T(1.001) * static_cast<T>(std::sqrt(sum));
}

// Limits of scores, in units of ln 2, up to which T is precise enough.
struct ScoreLimits {
  double largest;  ///< of the largest score of a row
  double sum;      ///< of |query| · |key|, which bounds the sum of the absolute products

  // Whether the products of queries and keys up to these lengths are within the limit.
  template <class T>
  bool hold(T longest_query, T longest_key) const {
    return static_cast<double>(longest_query) * static_cast<double>(longest_key) <= sum;
  }

  // Whether the largest score of a row is finite and beyond the limit. Infinity makes the row NaN
  // in any precision.
  template <class T>
  bool exceeded(T score) const {
    const auto size = std::abs(static_cast<double>(score));
    return size > largest && size < std::numeric_limits<double>::infinity();
  }
};

// Single precision makes weights within a relative 2e-5 as long as scores are, in most cases to
// five standard deviations. With u = 2⁻²⁴, a rounding of a number about x is off by 0.42 u x: the
// root of the mean square, over all mantissas. Of D products that add up to x, summed in m parts of
// d terms, the partial sums grow evenly in most cases that matter, up to x/m in each part; their
// squares add up to x² d / (3 m), those of the sums of parts to less than x² m / 3 without one
// part, and the factor of the query, the product with log₂ e and the addition of a bias make three
// more:
//   5 · 0.42 u x √(d / (3 m) + (m − 1) / 3 + 3) ≤ 2e-5
// gives x = 32 for heads 64 wide. Where products cancel, partial sums may be larger than the score;
// they are no larger than the product of the lengths of query and key (Cauchy and Schwarz), which
// may be four times as large. Double precision does so for all x that matter.
// `steepness`: a bound, above 0, of how much errors of the products grow before the softmax.
template <class T>
ScoreLimits score_limits(std::size_t width, double steepness = 1) {
  constexpr auto most = static_cast<double>(std::numeric_limits<T>::max());
  if constexpr (sizeof(T) == sizeof(double)) return {0x1p100, most / 4};
  const std::size_t parts = (width + score_depth - 1) / score_depth;
  const double depth = static_cast<double>(std::min(width, score_depth));
  const double m = static_cast<double>(parts);
  const double roundings = std::sqrt(depth / (3 * m) + (m - 1) / 3 + 3);
  const double largest = 2e-5 * 0x1p24 / (5 * 0.42 * roundings) * log2_e;
  return {largest, 4 * largest / steepness};
}

// Whether sums of the values of `keys` keys, each times a power of at most 2^(lift + 1), stay in
// the range of T.
template <class T>
bool values_fit(T largest, std::size_t keys) {
  return static_cast<double>(largest) * 0x1p65 * static_cast<double>(keys) <
         static_cast<double>(std::numeric_limits<T>::max()) / 4;
}

// Clears the payloads of NaN, which power_of_two() would turn into numbers.
template <class T>
void forget_digits(T* row, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    if (row[k] != row[k]) row[k] = std::numeric_limits<T>::quiet_NaN();
  }
}

// The largest Σ x² of the columns of a panel [width][unit]; infinity if one is not finite.
template <std::size_t unit, class T>
T largest_squares(const T* panel, std::size_t width) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t size = lanes_of<T>;
  // The numbers after which a lane meets the same column again.
  constexpr std::size_t period = std::lcm(unit, size), vectors = period / size;
  hn::Vec<decltype(d)> sums[vectors];
  for (auto& sum : sums) sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + period <= unit * width; i += period) {
#pragma GCC unroll 6
    for (std::size_t v = 0; v < vectors; ++v) {
      const auto x = hn::LoadU(d, panel + i + v * size);
      sums[v] = hn::MulAdd(x, x, sums[v]);
    }
  }
  HWY_ALIGN std::array<T, period> lanes;
  for (std::size_t v = 0; v < vectors; ++v) hn::StoreU(sums[v], d, lanes.data() + v * size);
  for (; i < unit * width; ++i) lanes[i % unit] += panel[i] * panel[i];
  T largest = 0;
  for (std::size_t column = 0; column < unit; ++column) {
    T sum = 0;
    for (std::size_t lane = column; lane < period; lane += unit) sum += lanes[lane];
    if (!(sum < infinite<T>)) return infinite<T>;
    largest = std::max(largest, sum);
  }
  return largest;
}

// pack_columns() of rows that may hold NaN. Returns an upper bound of the lengths of the rows times
// the factor, as length_of() does.
template <std::size_t unit, class T>
T pack_rows(const T* const* rows, std::size_t count, std::size_t width, T factor, T* packed) {
  T squares = 0, longest = 0;
  for (std::size_t first = 0; first < count; first += unit) {
    T* panel = packed + first * width;
    const std::size_t present = std::min(unit, count - first);
    pack_columns<unit>(rows + first, present, width, factor, panel);
    const T own = largest_squares<unit>(panel, width);
    if (own < infinite<T>) {
      squares = std::max(squares, own);
      continue;
    }
    forget_digits(panel, unit * width);
    for (std::size_t r = first; r < first + present; ++r) {
      longest = std::max(longest, length_of(rows[r], width) * std::abs(factor));
    }
  }
  return std::max(longest, length_of_squares(squares, width));
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
