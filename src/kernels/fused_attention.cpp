#include <algorithm>
#include <array>
#include <optional>

#include "kernels/attention_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fused_attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention_rows_inl.hpp"
#include "kernels/online_softmax_inl.hpp"
#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

constexpr std::size_t most_rows = rounded_up(query_block, tile_rows);
constexpr std::size_t strips_per_block = most_rows / tile_rows;

// Sizes of a step. `keys`: a block of keys and values that fits the second-level cache. `strips`:
// strips of queries per read of a panel of keys; one for heads up to 768 bytes wide, whose scores
// then stay in the first-level cache, all for wider ones, whose panels outweigh that.
struct Blocking {
  std::size_t keys, strips;
};

template <class T>
Blocking blocking_of(const HeadSizes& sizes) {
  const std::size_t widths = (sizes.width + sizes.value_width) * sizeof(T) / 4;
  if (widths >= 768) return {192, strips_per_block};
  if (widths >= 384) return {192, 1};
  return {384, 1};
}

template <class T>
class Block : OnlineSoftmax<T> {
 public:
  Block(const QueryBlock<T>& block, const PackedHead<T>& head, const WeightBins* bins, T* scratch)
      : Block(block, head, bins, Parts(block.sizes, scratch)) {}

  static std::size_t scratch_count(const HeadSizes& sizes) { return Parts(sizes, nullptr).count; }

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
    const KeySteps steps(block_.mask, seen, step);
    for (std::size_t i = 0; i < steps.count(); ++i) {
      const std::size_t base = steps.base(i);
      const std::size_t keys = std::min(step, block_.sizes.keys - base);
      if (!sees_keys(block_.mask, base, keys)) continue;
      for (std::size_t strip = 0; strip < strips; strip += blocking_.strips) {
        add_keys(strip, std::min(blocking_.strips, strips - strip), base, keys);
      }
      this->added(keys);
    }
    return this->finish(binned_ ? &*binned_ : nullptr);
  }

 private:
  // The parts of the scratch.
  struct Parts {
    Blocking blocking;
    T *queries, *sums, *scores, *room;
    std::size_t count = 0;

    Parts(const HeadSizes& sizes, T* scratch) : blocking(blocking_of<T>(sizes)) {
      ScratchParts<T> cut(scratch);
      queries = cut.next(most_rows * sizes.width);
      sums = cut.next(
          OnlineSoftmax<T>::sums_count(most_rows, rounded_up(sizes.value_width, columns_of<T>)));
      scores = cut.next(blocking.strips * tile_rows * blocking.keys);
      room = cut.next(blocking.keys);
      count = cut.count();
    }
  };

  Block(const QueryBlock<T>& block, const PackedHead<T>& head, const WeightBins* bins,
        const Parts& parts)
      : OnlineSoftmax<T>(block, head, rounded_up(block.queries, tile_rows),
                         rounded_up(block.sizes.value_width, columns_of<T>), parts.sums,
                         parts.room),
        blocking_(parts.blocking),
        width_(block.sizes.width),
        queries_(parts.queries),
        scores_(parts.scores) {
    std::array<const T*, query_block> rows{};
    for (std::size_t i = 0; i < block.queries; ++i) rows[i] = block.query + i * block.query_stride;
    const T longest = pack_rows<tile_rows>(rows.data(), block.queries, width_,
                                           static_cast<T>(block.scale * log2_e), queries_);
    in_range_ = this->limits_.hold(longest, head.longest_key) &&
                values_fit(head.largest_value, block.sizes.keys);
    if (bins != nullptr) binned_.emplace(*bins, parts.queries + parts.count);
  }

  // Adds one block of keys to some strips of rows.
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
        const T* powers = scores_ + s * tile_rows * stride + seen[s].first;
        const T* values = panel + seen[s].first * columns_of<T>;
        const std::size_t depth = seen[s].end - seen[s].first;
        T* to = this->sums(views_[first_strip + s].row) + column;
        if (strips == 1) {
          add_products<false>(powers, stride, values, depth, to, output_width_);
        } else {
          const T* next = values + columns_of<T> * block_.sizes.keys;
          add_products<false, tile_rows, true>(powers, stride, values, depth, to, output_width_,
                                               sum_depth,
                                               next + s * depth * columns_of<T> / strips);
        }
      }
    }
  }

  // Turns the scores of a strip against the keys base + [seen) into exponentials.
  void soften(const StripView& strip, std::size_t base, const Range& seen, T* scores) {
    const Range whole{seen.first / lanes_of<T> * lanes_of<T>, rounded_up(seen.end, lanes_of<T>)};
    const bool full = this->sees_all(strip, base, whole);
    rewrite_scores(block_.mask, strip.row, strip.rows, base, seen, scores, blocking_.keys);
    for (std::size_t r = 0; r < strip.rows; ++r) {
      this->admit(strip.row + r, full, base, seen, whole, scores + r * blocking_.keys);
    }
    for (std::size_t r = 0; r < strip.rows; ++r) {
      const std::size_t row = strip.row + r;
      T* line_of = scores + r * blocking_.keys;
      const Shift<T> shift = this->shift_for(row, whole, line_of);
      if (full && this->sees_any(row)) {
        exponentials<false>(line_of, whole, shift, this->total(row));
      } else {
        exponentials<true>(line_of, whole, shift, this->total(row));
      }
      if (binned_ && this->sees_any(row)) binned_->add(row, base, seen, line_of, shift.value);
    }
  }

  using OnlineSoftmax<T>::block_;
  using OnlineSoftmax<T>::head_;
  using OnlineSoftmax<T>::output_width_;
  Blocking blocking_;
  std::size_t width_;
  bool in_range_;
  T *queries_, *scores_;
  std::optional<BinnedRows<T>> binned_;
  std::array<StripView, strips_per_block> views_;
};

}  // namespace

std::size_t scratch_floats(const HeadSizes& sizes, std::size_t key_bins) {
  return Block<float>::scratch_count(sizes) + BinnedRows<float>::scratch_count(key_bins);
}
std::size_t scratch_doubles(const HeadSizes& sizes, std::size_t key_bins) {
  return Block<double>::scratch_count(sizes) + BinnedRows<double>::scratch_count(key_bins);
}
BlockOutcome attend_floats(const QueryBlock<float>& block, const PackedHead<float>& head,
                           const WeightBins* bins, float* scratch) {
  return Block<float>(block, head, bins, scratch).compute();
}
BlockOutcome attend_doubles(const QueryBlock<double>& block, const PackedHead<double>& head,
                            const WeightBins* bins, double* scratch) {
  return Block<double>(block, head, bins, scratch).compute();
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(scratch_floats);
ATTN_FOR_TARGETS(scratch_doubles);
ATTN_FOR_TARGETS(attend_floats);
ATTN_FOR_TARGETS(attend_doubles);

template <>
std::size_t attention_scratch_count<float>(const HeadSizes& sizes, std::size_t key_bins) noexcept {
  return ATTN_OF_TARGET(scratch_floats)(sizes, key_bins);
}
template <>
std::size_t attention_scratch_count<double>(const HeadSizes& sizes, std::size_t key_bins) noexcept {
  return ATTN_OF_TARGET(scratch_doubles)(sizes, key_bins);
}

BlockOutcome attend_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                          const WeightBins* bins, float* scratch) noexcept {
  return ATTN_OF_TARGET(attend_floats)(block, head, bins, scratch);
}
BlockOutcome attend_block(const QueryBlock<double>& block, const PackedHead<double>& head,
                          const WeightBins* bins, double* scratch) noexcept {
  return ATTN_OF_TARGET(attend_doubles)(block, head, bins, scratch);
}

}  // namespace attn::kernels
#endif
