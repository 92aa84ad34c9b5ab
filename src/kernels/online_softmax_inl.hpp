// What a block of queries keeps of the keys that it has seen: of each row its largest score, the
// sum of exponentials and the unscaled output. Compiled once for each CPU target.

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

#include "kernels/attention_rows_inl.hpp"
#include "kernels/binned_rows_inl.hpp"
#include "kernels/long_sums_inl.hpp"
#include "kernels/odd_values_inl.hpp"
#include "kernels/packed_head.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

template <class T>
class OnlineSoftmax {
 public:
  // Numbers of T for sums [rows, output_width] and totals [rows, lanes_of<T>].
  static constexpr std::size_t sums_count(std::size_t rows, std::size_t output_width) {
    return LongSums<T>::scratch_count(rows * (output_width + lanes_of<T>));
  }

  // `rows` is a multiple of the rows that a product writes; `room` is for the terms that a mask
  // adds to a row of a block of keys.
  OnlineSoftmax(const QueryBlock<T>& block, const PackedHead<T>& head, std::size_t rows,
                std::size_t output_width, T* sums, T* room)
      : block_(block),
        head_(head),
        output_width_(output_width),
        limits_(score_limits<T>(block.sizes.width)),
        softcap_(static_cast<T>(block.softcap * log2_e)),
        first_total_(rows * output_width),
        sums_(sums, rows * (output_width + lanes_of<T>)),
        room_(room) {
    largest_.fill(-infinite<T>);
    shift_.fill({-infinite<T>, 0});
  }

 protected:
  // Whether all rows of a strip see all keys base + [whole), and nothing is added to their scores.
  bool sees_all(const StripView& strip, std::size_t base, const Range& whole) const {
    return strip.all.first <= base + whole.first && base + whole.end <= strip.all.end &&
           block_.mask.added == nullptr;
  }

  // Softcap and mask of a row's scores against the keys base + [seen), as far as they change
  // anything, and the row's shift.
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

  // The shift that the exponentials of a row take, subtracted beforehand where it has to be.
  HWY_INLINE Shift<T> shift_for(std::size_t row, const Range& whole, T* scores) {
    Shift<T> shift = shift_[row];
    if (shift.value == -infinite<T>) shift = Shift<T>::of(0);
    if (shift.outside()) subtract(scores, whole, shift.value);
    return shift;
  }

  bool sees_any(std::size_t row) const { return largest_[row] != -infinite<T>; }
  T* total(std::size_t row) { return sums_.at(first_total_ + row * lanes_of<T>); }
  T* sums(std::size_t row) { return sums_.at(row * output_width_); }
  void added(std::size_t keys) { sums_.added(keys); }

  BlockOutcome finish(BinnedRows<T>* binned) {
    BlockOutcome outcome;
    std::array<T, query_block> factors, shifts;
    for (std::size_t i = 0; i < block_.queries; ++i) {
      const double of_keys = sums_.sum_of_lanes(first_total_ + i * lanes_of<T>);
      if (of_keys == 0) ++outcome.empty_rows;
      const double total = with_sink(of_keys, block_, shift_[i].value);
      if (of_keys != 0 && sink_exceeds(block_, shift_[i].value)) outcome.out_of_range = true;
      if (!std::isfinite(total)) outcome.overflow = true;
      if (limits_.exceeded(largest_[i])) outcome.out_of_range = true;
      const double factor = total == 0 ? 0 : 1 / total;
      factors[i] = static_cast<T>(factor);
      shifts[i] = sees_any(i) ? shift_[i].value : T(0);
      T* to = block_.output + i * block_.output_stride;
      sums_.put(i * output_width_, block_.sizes.value_width, factor, to);
      if (!all_finite(to, block_.sizes.value_width)) outcome.overflow = true;
      if (head_.odd_count > 0) add_odd_values(block_, head_, i, shifts[i], total, to);
    }
    if (binned != nullptr) binned->finish(block_.queries, shifts.data(), factors.data());
    return outcome;
  }

  const QueryBlock<T>& block_;
  const PackedHead<T>& head_;
  std::size_t output_width_;
  ScoreLimits limits_;

 private:
  // Shifts a row by its new largest score.
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
  std::array<T, query_block> largest_;
  std::array<Shift<T>, query_block> shift_;
};

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
