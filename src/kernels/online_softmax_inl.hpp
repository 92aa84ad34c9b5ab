// The state of a block of queries between blocks of keys: for each row the largest score, the sum
// of exponentials and the unscaled output; weights reduced to bins on the way. Compiled once for
// each CPU target.

#if defined(ATTN_KERNELS_ONLINE_SOFTMAX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_ONLINE_SOFTMAX_INL
#undef ATTN_KERNELS_ONLINE_SOFTMAX_INL
#else
#define ATTN_KERNELS_ONLINE_SOFTMAX_INL
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <hwy/highway.h>

#include "kernels/attention_kernels.hpp"
#include "kernels/attention_rows_inl.hpp"
#include "kernels/long_sums_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

// Weights of a block of queries reduced to bins of keys: for each row and bin the sum (or the
// largest) of the exponentials, with the shift that the row had then, because its last shift is
// known only at the end.
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

  // Takes the exponentials of the keys base + [range).
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

  // Adds the rows to the cells of their bins of queries: exponentials at the row's last shift times
  // 1 / total.
  void finish(std::size_t rows, const T* shift, const T* factor) {
    const hn::ScalableTag<T> d;
    HWY_ALIGN std::array<T, stride> last{}, factors{}, weights{};
    std::copy_n(shift, rows, last.begin());
    std::copy_n(factor, rows, factors.begin());
    const auto turned = hn::Set(d, rounding<T>), least = hn::Set(d, least_power(T(0)));
    for (std::size_t bin = 0; bin < bins_.key_bins; ++bin) {
      for (std::size_t row = 0; row < rows; row += size) {
        const std::size_t at = bin * stride + row;
        // Shifts only grow. Bins without keys that the row sees may hold any shift.
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
    // Parts of few numbers bound the rounding of the sum (see LongSums).
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
  std::size_t key_ = 0, bin_ = 0;  // the first key of the last add(), and its bin
};

template <class T>
class OnlineSoftmax {
 public:
  // Numbers of T for sums [rows, output_width] and totals [rows, lanes_of<T>].
  static constexpr std::size_t sums_count(std::size_t rows, std::size_t output_width) {
    return LongSums<T>::scratch_count(rows * (output_width + lanes_of<T>));
  }

  // `rows`: queries rounded up to the rows that a product writes. `room`: takes the terms that a
  // mask adds to one row of a block of keys.
  OnlineSoftmax(const QueryBlock<T>& block, const PackedHead<T>& head, std::size_t rows,
                std::size_t output_width, T* sums, T* room)
      : block_(block),
        head_(head),
        output_width_(output_width),
        limits_(score_limits<T>(block.sizes.width, block.mask.steepness)),
        softcap_(static_cast<T>(block.softcap * log2_e)),
        first_total_(rows * output_width),
        sums_(sums, rows * (output_width + lanes_of<T>)),
        room_(room) {
    largest_.fill(-infinite<T>);
    shift_.fill({-infinite<T>, 0});
  }

 protected:
  // Whether all rows of a strip see all keys base + [whole), and no function changes their scores.
  bool sees_all(const StripView& strip, std::size_t base, const Range& whole) const {
    return strip.all.first <= base + whole.first && base + whole.end <= strip.all.end &&
           block_.mask.added == nullptr && block_.mask.rewritten == nullptr;
  }

  // Applies softcap and mask to the scores of a row and the keys base + [seen), and raises the
  // row's shift if its largest score grew.
  HWY_INLINE void admit(std::size_t row, bool sees_all, std::size_t base, const Range& seen,
                        const Range& whole, T* scores) {
    if (!sees_all || softcap_ > 0) {
      const Range own = Range{block_.mask.first[row], block_.mask.end[row]}.within(base, seen.end);
      mask_scores(block_.mask, softcap_, row, base, own, whole, scores, room_);
    } else if (block_.mask.terms != nullptr) {
      const T* const terms = terms_of(block_.mask, row, base);
      if (exceeded<true>(scores, whole, largest_[row], terms)) raise(row);
      return;
    }
    if (exceeded(scores, whole, largest_[row])) raise(row);
  }

  // The shift of a row for exponentials(). Shifts too large for that are subtracted here.
  HWY_INLINE Shift<T> shift_for(std::size_t row, const Range& whole, T* scores) {
    Shift<T> shift = shift_[row];
    if (shift.value == -infinite<T>) shift = Shift<T>::of(0);
    if (shift.outside()) subtract(scores, whole, shift.value);
    return shift;
  }

  bool sees_any(std::size_t row) const { return largest_[row] != -infinite<T>; }
  // The sum of a row's powers, with its sink.
  double total_of(std::size_t row) const {
    const double of_keys = sums_.sum_of_lanes(first_total_ + row * lanes_of<T>);
    return with_sink(of_keys, block_, shift_[row].value);
  }
  T* total(std::size_t row) { return sums_.at(first_total_ + row * lanes_of<T>); }
  T* sums(std::size_t row) { return sums_.at(row * output_width_); }
  void added(std::size_t keys) { sums_.added(keys); }

  BlockOutcome finish(BinnedRows<T>* binned) {
    BlockOutcome outcome;
    std::array<T, most_block_queries> factors, shifts;
    for (std::size_t i = 0; i < block_.queries; ++i) {
      const double of_keys = sums_.sum_of_lanes(first_total_ + i * lanes_of<T>);
      if (of_keys == 0) ++outcome.empty_rows;
      double total = of_keys;
      if (block_.reweighted == nullptr) {  // weights count their sink before
        total = with_sink(of_keys, block_, shift_[i].value);
        if (of_keys != 0 && sink_exceeds(block_, shift_[i].value)) outcome.out_of_range = true;
      }
      if (!std::isfinite(total)) outcome.overflow = true;
      if (limits_.exceeded(largest_[i])) outcome.out_of_range = true;
      const double factor = total == 0 ? 0 : 1 / total;
      factors[i] = static_cast<T>(factor);
      shifts[i] = sees_any(i) ? shift_[i].value : T(0);
      T* to = block_.output + i * block_.output_stride;
      sums_.put(i * output_width_, block_.sizes.value_width, factor, to);
      if (!all_finite(to, block_.sizes.value_width)) outcome.overflow = true;
      if (head_.non_finite_count > 0) add_non_finite_values(block_, head_, i, shifts[i], total, to);
    }
    if (binned != nullptr) binned->finish(block_.queries, shifts.data(), factors.data());
    return outcome;
  }

  const QueryBlock<T>& block_;
  const PackedHead<T>& head_;
  std::size_t output_width_;
  ScoreLimits limits_;

 private:
  // Raises the shift of a row to its new largest score, and scales its sums.
  void raise(std::size_t row) {
    const Shift<T> before = shift_[row], now = Shift<T>::of(largest_[row]);
    shift_[row] = now;
    if (before.value == now.value || before.value == -infinite<T>) return;
    const T factor = std::exp2(before.value - now.value);
    sums_.multiply(row * output_width_, output_width_, factor);
    sums_.multiply(first_total_ + row * lanes_of<T>, lanes_of<T>, factor);
  }

  T softcap_;
  std::size_t first_total_;
  LongSums<T> sums_;
  T* room_;
  std::array<T, most_block_queries> largest_;
  std::array<Shift<T>, most_block_queries> shift_;
};

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
