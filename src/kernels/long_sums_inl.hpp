// Sums over any number of keys. Compiled once for each CPU target.

#if defined(ATTN_KERNELS_LONG_SUMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_LONG_SUMS_INL
#undef ATTN_KERNELS_LONG_SUMS_INL
#else
#define ATTN_KERNELS_LONG_SUMS_INL
#endif

#include <algorithm>
#include <cstddef>

#include <hwy/highway.h>

#include "kernels/tile_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

// The number of products summed one after the other in T: n equal ones, all rounded the same way,
// are off by up to n / 4 units of roundoff.
constexpr std::size_t sum_depth = 96;

// c += a b by multiply_tile(), `part` products at a time.
template <bool packed, std::size_t rows = tile_rows, bool fetches = false, class T>
HWY_INLINE void add_products(const T* a, std::size_t stride, const T* b, std::size_t depth, T* c,
                             std::size_t c_stride, std::size_t part = sum_depth,
                             const T* ahead = nullptr) {
  for (std::size_t k = 0; k < depth; k += part) {
    multiply_tile<packed, rows, fetches>(a + k * (packed ? rows : 1), stride, b + k * columns_of<T>,
                                         std::min(part, depth - k), c, c_stride, true,
                                         fetches ? ahead + k / 4 * cache_line<T> : nullptr);
  }
}

// Sums over any number of keys. Every fold_keys keys the sums in T are added to totals in double
// precision, so that the errors of equal addends do not grow with the number of keys.
template <class T>
class LongSums {
 public:
  static constexpr std::size_t fold_keys = 1536;

  /// Scratch of `count` sums in numbers of T, from a multiple of 64 bytes on.
  static constexpr std::size_t scratch_count(std::size_t count) {
    const std::size_t sums = rounded_up(count, line);
    return sums + sums * sizeof(double) / sizeof(T);
  }

  LongSums(T* scratch, std::size_t count)
      : count_(count),
        sums_(scratch),
        totals_(static_cast<double*>(static_cast<void*>(scratch + rounded_up(count, line)))) {
    clear();
  }

  T* at(std::size_t i) { return sums_ + i; }

  void clear() {
    std::fill_n(sums_, count_, T(0));
    folded_ = false;
  }

  /// Has to be called after every block of keys, with their number.
  void added(std::size_t keys) {
    keys_ += keys;
    if (keys_ >= fold_keys) fold();
  }

  /// Multiplies `count` sums from `first` on by a factor, or each by its own.
  void multiply(std::size_t first, std::size_t count, T factor) {
    multiply_by(first, count, [factor](std::size_t) { return factor; });
  }
  void multiply(std::size_t first, std::size_t count, const T* factors) {
    multiply_by(first, count, [factors](std::size_t i) { return factors[i]; });
  }

  double value(std::size_t i) const {
    return folded_ ? totals_[i] + static_cast<double>(sums_[i]) : static_cast<double>(sums_[i]);
  }

  /// The sum of one vector of sums.
  double sum_of_lanes(std::size_t first) const {
    const hn::ScalableTag<T> d;
    const T last = hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, sums_ + first)));
    double sum = static_cast<double>(last);
    const hn::ScalableTag<double> wide;
    for (std::size_t i = first; folded_ && i < first + lanes_of<T>; i += lanes_of<double>) {
      sum += hn::GetLane(hn::SumOfLanes(wide, hn::LoadU(wide, totals_ + i)));
    }
    return sum;
  }

  /// Writes `count` sums from `first` on, times a factor or each times its own.
  void put(std::size_t first, std::size_t count, double factor, T* to) const {
    put_times(
        first, count, [factor](std::size_t) { return factor; }, to);
  }
  void put(std::size_t first, std::size_t count, const double* factors, T* to) const {
    put_times(
        first, count, [factors](std::size_t i) { return factors[i]; }, to);
  }

 private:
  static constexpr std::size_t line = 64 / sizeof(T);

  template <class Factor>
  HWY_INLINE void multiply_by(std::size_t first, std::size_t count, const Factor& factor) {
    T* HWY_RESTRICT sums = sums_ + first;
    for (std::size_t i = 0; i < count; ++i) sums[i] *= factor(i);
    if (!folded_) return;
    double* HWY_RESTRICT totals = totals_ + first;
    for (std::size_t i = 0; i < count; ++i) totals[i] *= static_cast<double>(factor(i));
  }

  template <class Factor>
  HWY_INLINE void put_times(std::size_t first, std::size_t count, const Factor& factor,
                            T* HWY_RESTRICT to) const {
    if (!folded_) {
      for (std::size_t i = 0; i < count; ++i) to[i] = sums_[first + i] * static_cast<T>(factor(i));
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const double total = totals_[first + i] + static_cast<double>(sums_[first + i]);
      to[i] = static_cast<T>(total * factor(i));
    }
  }

  void fold() {
    if (!folded_) std::fill_n(totals_, count_, 0.0);
    for (std::size_t i = 0; i < count_; ++i) {
      totals_[i] += static_cast<double>(sums_[i]);
      sums_[i] = 0;
    }
    folded_ = true;
    keys_ = 0;
  }

  std::size_t count_, keys_ = 0;
  T* sums_;
  double* totals_;
  bool folded_ = false;
};

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
