#include "kernels/fused_attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fused_attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention_rows_inl.hpp"
#include "kernels/binned_rows_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

constexpr std::size_t most_rows = rounded_up(query_block, tile_rows);
constexpr std::size_t strips_per_block = most_rows / tile_rows;
constexpr std::size_t line = 64;

template <class T>
constexpr std::size_t in_lines(std::size_t count) {
  return rounded_up(count, line / sizeof(T));
}

// Keys of a block, chosen for the second-level cache to hold them and their values; and the strips
// of queries that a panel is read for at a time: with narrow heads one, whose scores stay in the
// first-level cache, with wide ones, whose panels weigh more than that, all.
struct Blocking {
  std::size_t keys, strips;
};

template <class T>
Blocking blocking(const HeadSizes& sizes) {
  const std::size_t widths = (sizes.width + sizes.value_width) * sizeof(T) / 4;
  if (widths >= 768) return {192, strips_per_block};
  if (widths >= 384) return {192, 1};
  return {384, 1};
}

template <class T>
class Block {
 public:
  Block(const QueryBlock<T>& block, const PackedHead<T>& head, const T* const* value_rows,
        const WeightBins* bins, T* scratch)
      : block_(block),
        head_(head),
        value_rows_(value_rows),
        blocking_(blocking<T>(block.sizes)),
        width_(block.sizes.width),
        output_width_(rounded_up(block.sizes.value_width, columns_of<T>)),
        softcap_(static_cast<T>(block.softcap * log2_e)),
        queries_(scratch),
        sums_(queries_ + in_lines<T>(most_rows * width_)),
        totals_(sums_ + in_lines<T>(most_rows * output_width_)),
        scores_(totals_ + in_lines<T>(most_rows * lanes_of<T>)),
        room_(scores_ + blocking_.strips * tile_rows * blocking_.keys) {
    std::array<const T*, query_block> rows{};
    for (std::size_t i = 0; i < block.queries; ++i) rows[i] = block.query + i * block.query_stride;
    const T largest = pack_rows<tile_rows>(rows.data(), block.queries, width_,
                                           static_cast<T>(block.scale * log2_e), queries_);
    in_range_ = products_fit(largest, head.largest_key, width_) &&
                values_fit(head.largest_value, block.sizes.keys);
    std::fill_n(sums_, rounded_up(block.queries, tile_rows) * output_width_, T(0));
    std::fill_n(totals_, block.queries * lanes_of<T>, T(0));
    if (bins != nullptr) binned_.emplace(*bins, scratch + scratch_count(block.sizes));
    largest_.fill(-infinite<T>);
    shift_.fill({-infinite<T>, 0});
  }

  static std::size_t scratch_count(const HeadSizes& sizes) {
    const Blocking blocks = blocking<T>(sizes);
    return in_lines<T>(most_rows * sizes.width) +
           in_lines<T>(most_rows * rounded_up(sizes.value_width, columns_of<T>)) +
           in_lines<T>(most_rows * lanes_of<T>) +
           in_lines<T>(blocks.strips * tile_rows * blocks.keys + blocks.keys);
  }

  BlockOutcome compute() {
    if (!in_range_) return {.out_of_range = true};
    const std::size_t strips = (block_.queries + tile_rows - 1) / tile_rows;
    Range seen{block_.sizes.keys, 0};
    for (std::size_t s = 0; s < strips; ++s) {
      const std::size_t row = s * tile_rows;
      views_[s] = view_of(block_.mask, row, std::min(tile_rows, block_.queries - row));
      if (views_[s].any.empty()) continue;
      seen.first = std::min(seen.first, views_[s].any.first);
      seen.end = std::max(seen.end, views_[s].any.end);
    }
    const std::size_t step = blocking_.keys;
    for (std::size_t base = seen.first / step * step; base < seen.end; base += step) {
      const std::size_t keys = std::min(step, block_.sizes.keys - base);
      for (std::size_t strip = 0; strip < strips; strip += blocking_.strips) {
        add_keys(strip, std::min(blocking_.strips, strips - strip), base, keys);
      }
    }
    return finish();
  }

 private:
  // One block of keys for some strips of rows.
  void add_keys(std::size_t first_strip, std::size_t strips, std::size_t base, std::size_t keys) {
    std::array<Range, strips_per_block> seen;
    Range any{keys, 0};
    for (std::size_t s = 0; s < strips; ++s) {
      seen[s] = views_[first_strip + s].any.within(base, keys);
      if (seen[s].empty()) continue;
      any.first = std::min(any.first, seen[s].first);
      any.end = std::max(any.end, seen[s].end);
    }
    if (any.empty()) return;
    const std::size_t stride = blocking_.keys;
    multiply_panels(queries_ + first_strip * tile_rows * width_, strips, head_.keys + base * width_,
                    width_, any, scores_, stride);
    for (std::size_t s = 0; s < strips; ++s) {
      if (seen[s].empty()) continue;
      soften(views_[first_strip + s], base, seen[s], scores_ + s * tile_rows * stride);
    }
    for (std::size_t column = 0; column < output_width_; column += columns_of<T>) {
      const T* panel = head_.values + column * block_.sizes.keys + base * columns_of<T>;
      for (std::size_t s = 0; s < strips; ++s) {
        if (seen[s].empty()) continue;
        multiply_tile<false>(scores_ + s * tile_rows * stride + seen[s].first, stride,
                             panel + seen[s].first * columns_of<T>, seen[s].end - seen[s].first,
                             sums_ + views_[first_strip + s].row * output_width_ + column,
                             output_width_, true);
      }
    }
  }

  // Turns the scores of a strip against the keys base + [seen) into exponentials.
  void soften(const StripView& strip, std::size_t base, const Range& seen, T* scores) {
    const std::size_t stride = blocking_.keys;
    const Range whole{seen.first / lanes_of<T> * lanes_of<T>, rounded_up(seen.end, lanes_of<T>)};
    const bool full = strip.all.first <= base + whole.first && base + whole.end <= strip.all.end &&
                      block_.mask.added == nullptr;
    for (std::size_t r = 0; r < strip.rows; ++r) {
      const std::size_t row = strip.row + r;
      T* line_of = scores + r * stride;
      if (!full || softcap_ > 0) {
        const Range own =
            Range{block_.mask.first[row], block_.mask.end[row]}.within(base, seen.end);
        mask_scores(block_.mask, softcap_, row, base, own, whole, line_of, room_);
      }
      if (exceeded(line_of, whole, largest_[row])) raise(row);
    }
    for (std::size_t r = 0; r < strip.rows; ++r) {
      const std::size_t row = strip.row + r;
      T* line_of = scores + r * stride;
      Shift<T> shift = shift_[row];
      if (head_.odd_count > 0) add_odd_keys(row, base, whole, line_of);
      if (shift.value == -infinite<T>) shift = Shift<T>::of(0);
      if (shift.outside()) subtract(line_of, whole, shift.value);
      T* total = totals_ + row * lanes_of<T>;
      if (full && largest_[row] != -infinite<T>) {
        exponentials<false>(line_of, whole, shift, total);
      } else {
        exponentials<true>(line_of, whole, shift, total);
      }
      if (binned_ && largest_[row] != -infinite<T>) {
        binned_->add(row, base, seen, line_of, shift.value);
      }
    }
  }

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

  BlockOutcome finish() {
    const hn::ScalableTag<T> d;
    BlockOutcome outcome;
    std::array<T, query_block> factors, shifts;
    for (std::size_t i = 0; i < block_.queries; ++i) {
      const T total = hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, totals_ + i * lanes_of<T>)));
      if (total == 0) ++outcome.empty_rows;
      if (!std::isfinite(total)) outcome.overflow = true;
      const T factor = total == 0 ? T(0) : 1 / total;
      factors[i] = factor;
      shifts[i] = shift_[i].value == -infinite<T> ? T(0) : shift_[i].value;
      const T* from = sums_ + i * output_width_;
      T* to = block_.output + i * block_.output_stride;
      for (std::size_t k = 0; k < block_.sizes.value_width; ++k) to[k] = from[k] * factor;
      if (!all_finite(to, block_.sizes.value_width)) outcome.overflow = true;
    }
    if (binned_) binned_->finish(block_.queries, shifts.data(), factors.data());
    return outcome;
  }

  const QueryBlock<T>& block_;
  const PackedHead<T>& head_;
  const T* const* value_rows_;
  Blocking blocking_;
  std::size_t width_, output_width_;
  bool in_range_;
  T softcap_;
  T *queries_, *sums_, *totals_, *scores_, *room_;
  std::optional<BinnedRows<T>> binned_;
  std::array<StripView, strips_per_block> views_;
  std::array<T, most_rows> largest_;
  std::array<Shift<T>, most_rows> shift_;
};

}  // namespace

std::size_t scratch_floats(const HeadSizes& sizes, std::size_t key_bins) {
  return Block<float>::scratch_count(sizes) + BinnedRows<float>::scratch_count(key_bins);
}
std::size_t scratch_doubles(const HeadSizes& sizes, std::size_t key_bins) {
  return Block<double>::scratch_count(sizes) + BinnedRows<double>::scratch_count(key_bins);
}
BlockOutcome attend_floats(const QueryBlock<float>& block, const PackedHead<float>& head,
                           const float* const* value_rows, const WeightBins* bins, float* scratch) {
  return Block<float>(block, head, value_rows, bins, scratch).compute();
}
BlockOutcome attend_doubles(const QueryBlock<double>& block, const PackedHead<double>& head,
                            const double* const* value_rows, const WeightBins* bins,
                            double* scratch) {
  return Block<double>(block, head, value_rows, bins, scratch).compute();
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

HWY_EXPORT(scratch_floats);
HWY_EXPORT(scratch_doubles);
HWY_EXPORT(attend_floats);
HWY_EXPORT(attend_doubles);

template <>
std::size_t attention_scratch_count<float>(const HeadSizes& sizes, std::size_t key_bins) noexcept {
  return HWY_DYNAMIC_DISPATCH(scratch_floats)(sizes, key_bins);
}
template <>
std::size_t attention_scratch_count<double>(const HeadSizes& sizes, std::size_t key_bins) noexcept {
  return HWY_DYNAMIC_DISPATCH(scratch_doubles)(sizes, key_bins);
}

BlockOutcome attend_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                          const float* const* value_rows, const WeightBins* bins,
                          float* scratch) noexcept {
  return HWY_DYNAMIC_DISPATCH(attend_floats)(block, head, value_rows, bins, scratch);
}
BlockOutcome attend_block(const QueryBlock<double>& block, const PackedHead<double>& head,
                          const double* const* value_rows, const WeightBins* bins,
                          double* scratch) noexcept {
  return HWY_DYNAMIC_DISPATCH(attend_doubles)(block, head, value_rows, bins, scratch);
}

}  // namespace attn::kernels
#endif
