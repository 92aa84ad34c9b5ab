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
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "kernels/attention_rows_inl.hpp"
#include "kernels/binned_rows_inl.hpp"
#include "kernels/packed_head.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

template <class T>
class OnlineSoftmax {
 public:
  // Sums [rows, output_width] and totals [rows, lanes_of<T>], `rows` being a multiple of the rows
  // that a product writes; room for the terms that a mask adds to a row of a block of keys.
  OnlineSoftmax(const QueryBlock<T>& block, const PackedHead<T>& head, const T* const* value_rows,
                std::size_t rows, std::size_t output_width, T* sums, T* totals, T* room)
      : block_(block),
        head_(head),
        value_rows_(value_rows),
        output_width_(output_width),
        softcap_(static_cast<T>(block.softcap * log2_e)),
        sums_(sums),
        totals_(totals),
        room_(room) {
    std::fill_n(sums_, rows * output_width_, T(0));
    std::fill_n(totals_, block.queries * lanes_of<T>, T(0));
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
    }
    if (exceeded(scores, whole, largest_[row])) raise(row);
  }

  // What is left to do before the exponentials, and the shift that they take.
  HWY_INLINE Shift<T> shift_for(std::size_t row, std::size_t base, const Range& whole, T* scores) {
    Shift<T> shift = shift_[row];
    if (head_.odd_count > 0) add_odd_keys(row, base, whole, scores);
    if (shift.value == -infinite<T>) shift = Shift<T>::of(0);
    if (shift.outside()) subtract(scores, whole, shift.value);
    return shift;
  }

  bool sees_any(std::size_t row) const { return largest_[row] != -infinite<T>; }
  T* total(std::size_t row) { return totals_ + row * lanes_of<T>; }
  T* sums(std::size_t row) { return sums_ + row * output_width_; }

  BlockOutcome finish(BinnedRows<T>* binned) {
    const hn::ScalableTag<T> d;
    BlockOutcome outcome;
    std::array<T, query_block> factors, shifts;
    for (std::size_t i = 0; i < block_.queries; ++i) {
      const T total = hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, totals_ + i * lanes_of<T>)));
      if (total == 0) ++outcome.empty_rows;
      if (!std::isfinite(total)) outcome.overflow = true;
      const T factor = total == 0 ? T(0) : 1 / total;
      factors[i] = factor;
      shifts[i] = sees_any(i) ? shift_[i].value : T(0);
      const T* from = sums_ + i * output_width_;
      T* to = block_.output + i * block_.output_stride;
      for (std::size_t k = 0; k < block_.sizes.value_width; ++k) to[k] = from[k] * factor;
      if (!all_finite(to, block_.sizes.value_width)) outcome.overflow = true;
    }
    if (binned != nullptr) binned->finish(block_.queries, shifts.data(), factors.data());
    return outcome;
  }

  const QueryBlock<T>& block_;
  const PackedHead<T>& head_;
  const T* const* value_rows_;
  std::size_t output_width_;

 private:
  // Shifts a row by its new largest score.
  void raise(std::size_t row) {
    const Shift<T> before = shift_[row], now = Shift<T>::of(largest_[row]);
    shift_[row] = now;
    if (before.value == now.value || before.value == -infinite<T>) return;
    // An infinite value stays infinite, however small its weight becomes.
    const T least = head_.odd_count > 0 ? std::numeric_limits<T>::min() : T(0);
    const T factor = std::max(least, std::exp2(before.value - now.value));
    multiply(sums_ + row * output_width_, output_width_, factor);
    multiply(totals_ + row * lanes_of<T>, lanes_of<T>, factor);
  }

  // Values that are not finite, for the queries that see them; the scores are masked already.
  void add_odd_keys(std::size_t query, std::size_t base, const Range& range, const T* scores) {
    const std::uint32_t* const last = head_.odd_keys + head_.odd_count;
    const std::uint32_t* key = std::lower_bound<const std::uint32_t*>(
        head_.odd_keys, last, static_cast<std::uint32_t>(base + range.first));
    for (; key != last && *key < base + range.end; ++key) {
      const T score = scores[*key - base];
      if (score == -infinite<T>) continue;
      const T weight = odd_weight(score, shift_[query].value);
      T* to = sums_ + query * output_width_;
      const T* from = value_rows_[*key];
      for (std::size_t k = 0; k < block_.sizes.value_width; ++k) to[k] += weight * from[k];
    }
  }

  T softcap_;
  T *sums_, *totals_, *room_;
  std::array<T, query_block> largest_;
  std::array<Shift<T>, query_block> shift_;
};

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
