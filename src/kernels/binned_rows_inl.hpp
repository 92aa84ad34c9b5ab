// Weights reduced to bins of keys while they are computed. Compiled once for each CPU target.

#if defined(ATTN_KERNELS_BINNED_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_BINNED_ROWS_INL
#undef ATTN_KERNELS_BINNED_ROWS_INL
#else
#define ATTN_KERNELS_BINNED_ROWS_INL
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <hwy/highway.h>

#include "kernels/attention_rows_inl.hpp"
#include "kernels/fused_attention.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

// Of each row and bin of keys, the sum (or the largest) of its exponentials, and the shift that the
// row's scores had when they were taken: the row's last shift is known only at its end.
template <class T>
class BinnedRows {
  static constexpr std::size_t size = lanes_of<T>;
  static constexpr std::size_t stride = rounded_up(query_block, size);

 public:
  static std::size_t scratch_count(std::size_t key_bins) { return 2 * key_bins * stride; }

  BinnedRows(const WeightBins& bins, T* scratch)
      : bins_(bins), values_(scratch), shifts_(scratch + bins.key_bins * stride) {
    std::fill_n(scratch, scratch_count(bins.key_bins), T(0));
  }

  // The exponentials of the keys base + [range).
  void add(std::size_t row, std::size_t base, const Range& range, const T* exponentials, T shift) {
    const std::uint32_t* const firsts = bins_.first_keys;
    const std::size_t end = base + range.end;
    std::size_t key = base + range.first;
    if (key < key_) bin_ = 0;
    key_ = key;
    while (firsts[bin_ + 1] <= key) ++bin_;
    for (std::size_t bin = bin_; key < end; ++bin) {
      const std::size_t last = std::min<std::size_t>(end, firsts[bin + 1]);
      const T* part = exponentials + (key - base);
      T& value = values_[bin * stride + row];
      T& taken = shifts_[bin * stride + row];
      if (taken != shift) {
        if (value != 0) value *= std::exp2(taken - shift);
        taken = shift;
      }
      value = bins_.largest ? std::max(value, largest(part, last - key))
                            : value + sum(part, last - key);
      key = last;
    }
  }

  // Adds the rows to the cells of their bins of queries. A row's exponentials are divided by its
  // total at its last shift.
  void finish(std::size_t rows, const T* shift, const T* factor) {
    const hn::ScalableTag<T> d;
    HWY_ALIGN std::array<T, stride> last{}, factors{}, weights{};
    std::copy_n(shift, rows, last.begin());
    std::copy_n(factor, rows, factors.begin());
    const auto turned = hn::Set(d, rounding<T>), least = hn::Set(d, least_power(T(0)));
    for (std::size_t bin = 0; bin < bins_.key_bins; ++bin) {
      for (std::size_t row = 0; row < rows; row += size) {
        const std::size_t at = bin * stride + row;
        // Shifts grow; that of a bin of which the row saw nothing does not count.
        const auto later = hn::Min(
            hn::Sub(hn::LoadU(d, shifts_ + at), hn::LoadU(d, last.data() + row)), hn::Zero(d));
        const auto power = power_of_two<true>(d, later, turned, least);
        const auto value = hn::Mul(hn::LoadU(d, values_ + at), hn::LoadU(d, factors.data() + row));
        hn::StoreU(hn::Mul(value, power), d, weights.data() + row);
      }
      for (std::size_t row = 0; row < rows; ++row) {
        double& cell = bins_.cells[bins_.query_bins[row] * bins_.columns + bins_.columns_of[bin]];
        const double weight = static_cast<double>(weights[row]);
        cell = bins_.largest ? std::max(cell, weight) : cell + weight;
      }
    }
  }

 private:
  static T sum(const T* part, std::size_t count) {
    const hn::ScalableTag<T> d;
    T result = 0;
    std::size_t j = 0;
    // In parts of few numbers (LongSums says why).
    while (j + size <= count) {
      const std::size_t end = std::min(count, j + 32 * size);
      auto a = hn::LoadU(d, part + j), b = hn::Zero(d);
      for (j += size; j + 2 * size <= end; j += 2 * size) {
        a = hn::Add(a, hn::LoadU(d, part + j));
        b = hn::Add(b, hn::LoadU(d, part + j + size));
      }
      if (j + size <= end) {
        a = hn::Add(a, hn::LoadU(d, part + j));
        j += size;
      }
      result += hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
    }
    for (; j < count; ++j) result += part[j];
    return result;
  }

  static T largest(const T* part, std::size_t count) {
    const hn::ScalableTag<T> d;
    T result = 0;
    std::size_t j = 0;
    if (count >= size) {
      auto a = hn::LoadU(d, part);
      for (j = size; j + size <= count; j += size) a = hn::Max(a, hn::LoadU(d, part + j));
      result = hn::GetLane(hn::MaxOfLanes(d, a));
    }
    for (; j < count; ++j) result = std::max(result, part[j]);
    return result;
  }

  const WeightBins& bins_;
  T *values_, *shifts_;
  std::size_t key_ = 0, bin_ = 0;  // the key that was last begun with, and its bin
};

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
