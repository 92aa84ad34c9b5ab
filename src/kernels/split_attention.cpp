#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/attention_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/split_attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention_rows_inl.hpp"
#include "kernels/cpu_target.hpp"
#include "kernels/online_softmax_inl.hpp"
#include "kernels/split_rows_inl.hpp"
#include "kernels/target_dispatch.hpp"
#include "kernels/weights_of_powers_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX3

// Queries of a strip and keys of a block, whose scores and powers stay near the first-level cache.
constexpr std::size_t strip_rows = 2 * tile_side, key_step = 128;
constexpr std::size_t most_strips = split_query_block / strip_rows;

class SplitBlock : OnlineSoftmax<float> {
 public:
  SplitBlock(const QueryBlock<float>& block, const PackedHead<float>& head, float* weights,
             float* scratch)
      : SplitBlock(block, head, weights,
                   Parts(block.sizes, weights != nullptr || block.reweighted != nullptr, scratch)) {
  }

  static std::size_t scratch_count(const HeadSizes& sizes, bool whole_rows) {
    return Parts(sizes, whole_rows, nullptr).count;
  }

  BlockOutcome compute() {
    if (!in_range_) return {.out_of_range = true};
    if (weights_ != nullptr || block_.reweighted != nullptr) {
      const MatrixTiles tiles;
      for (std::size_t row = 0; row < block_.queries && in_range_; row += strip_rows) {
        const StripView& strip = views_[row / strip_rows];
        if (!strip.any.empty()) add_whole_rows(strip);
        if (weights_ != nullptr) put_weights(strip);
      }
    } else {
      const MatrixTiles tiles;
      const KeySteps steps(block_.mask, {0, block_.sizes.keys}, key_step);
      for (std::size_t i = 0; i < steps.count(); ++i) {
        const std::size_t base = steps.base(i);
        const std::size_t keys = std::min(key_step, block_.sizes.keys - base);
        if (!sees_keys(block_.mask, base, keys)) continue;
        for (std::size_t row = 0; row < block_.queries; row += strip_rows) {
          const StripView& strip = views_[row / strip_rows];
          const Range seen = strip.any.within(base, keys);
          if (!seen.empty()) add_keys(strip, base, seen);
        }
        added(keys);
      }
      add_values();
    }
    if (!in_range_) return {.out_of_range = true};
    return finish(nullptr);
  }

 private:
  // The parts of the scratch.
  struct Parts {
    float *queries, *powers, *sums, *scores, *room;
    std::size_t score_stride, count = 0;

    Parts(const HeadSizes& sizes, bool whole_rows, float* scratch) {
      ScratchParts<float> cut(scratch);
      constexpr std::size_t tile_floats = split_tile_numbers / 2;
      queries = cut.next(split_query_block / tile_side * tile_steps(sizes.width) * tile_floats);
      powers = cut.next(strip_rows / tile_side * (key_step / tile_depth) * tile_floats);
      sums = cut.next(sums_count(split_query_block, rounded_up(sizes.value_width, 2 * tile_side)));
      score_stride = whole_rows ? rounded_up(sizes.keys, tile_depth) : key_step;
      scores = cut.next(strip_rows * score_stride);
      room = cut.next(key_step);
      count = cut.count();
    }
  };

  // The exponentials of a strip whose product with the values is pending: keys base + 32 · [first,
  // end).
  struct Powers {
    std::size_t row = 0, base = 0, first = 0, end = 0;
  };

  SplitBlock(const QueryBlock<float>& block, const PackedHead<float>& head, float* weights,
             const Parts& parts)
      : OnlineSoftmax<float>(block, head, rounded_up(block.queries, strip_rows),
                             rounded_up(block.sizes.value_width, 2 * tile_side), parts.sums,
                             parts.room),
        width_steps_(tile_steps(block.sizes.width)),
        key_steps_(tile_steps(block.sizes.keys)),
        queries_(parts_in(parts.queries)),
        powers_(parts_in(parts.powers)),
        keys_(parts_in(head.keys)),
        values_(parts_in(head.values)),
        weights_(weights),
        scores_(parts.scores),
        score_stride_(parts.score_stride) {
    std::array<const float*, split_query_block> rows{};
    for (std::size_t i = 0; i < block.queries; ++i) rows[i] = block.query + i * block.query_stride;
    const auto scale = static_cast<float>(block.scale * log2_e);
    bool split = true;
    float longest = 0;
    for (std::size_t i = 0; i < block.queries; ++i) {
      const float length =
          length_of_squares(squares_of(rows[i], block.sizes.width), block.sizes.width);
      split = split && length <= largest_split;
      longest = std::max(longest, length * std::abs(scale));
    }
    in_range_ = split && longest <= largest_split && limits_.hold(longest, head.longest_key) &&
                values_fit(head.largest_value, block.sizes.keys);
    if (!in_range_) return;
    split_rows<3>(rows.data(), block.queries, block.sizes.width, scale, queries_);
    for (std::size_t row = 0; row < block.queries; row += strip_rows) {
      views_[row / strip_rows] =
          view_of(block.mask, row, std::min(strip_rows, block.queries - row));
    }
  }

  // Adds one block of keys to a strip. The product of its powers with the values follows after the
  // scores of the next strip, when the powers are ready.
  void add_keys(const StripView& strip, std::size_t base, const Range& seen) {
    multiply_keys(strip, base, seen, scores_);
    add_values();
    soften(strip, base, seen);
    pending_ = {strip.row, base, seen.first / tile_depth, tile_steps(seen.end)};
  }

  void multiply_keys(const StripView& strip, std::size_t base, const Range& seen,
                     float* scores) const {
    const std::size_t tile_row = width_steps_ * split_tile_numbers;
    const std::uint16_t* rows = queries_ + strip.row / tile_side * tile_row;
    const std::uint16_t* columns = keys_ + base / tile_side * tile_row;
    for (std::size_t step = seen.first / tile_depth; step < tile_steps(seen.end); ++step) {
      const std::uint16_t* right = columns + 2 * step * tile_row;
      multiply_split_tiles({rows, rows + tile_row, right, right + tile_row, width_steps_},
                           scores + step * tile_depth, score_stride_, false);
    }
  }

  // Computes whole rows of a strip: all scores first, so that powers have their last shift.
  void add_whole_rows(const StripView& strip) {
    const auto by_steps = [&](const auto& call) {
      for (std::size_t base = strip.any.first / key_step * key_step; base < strip.any.end;
           base += key_step) {
        call(base, strip.any.within(base, std::min(key_step, block_.sizes.keys - base)));
      }
    };
    by_steps([&](std::size_t base, const Range& seen) {
      multiply_keys(strip, base, seen, scores_ + base);
      admit_strip(strip, base, seen, scores_ + base);
    });
    if (block_.reweighted != nullptr) {
      for (std::size_t r = 0; r < strip.rows; ++r) {
        reweigh(strip.row + r, strip.any, scores_ + r * score_stride_);
      }
    }
    by_steps([&](std::size_t base, const Range& seen) {
      const Range whole = whole_tiles(seen);
      for (std::size_t r = 0; r < strip.rows; ++r) {
        float* const scores = scores_ + r * score_stride_ + base;
        if (block_.reweighted != nullptr) {
          split_weights(scores, whole, powers_of(r));
        } else {
          const std::size_t row = strip.row + r;
          split_exponentials<true, true>(scores, whole, shift_for(row, whole, scores), total(row),
                                         powers_of(r));
        }
      }
      pending_ = {strip.row, base, seen.first / tile_depth, tile_steps(seen.end)};
      add_values();
      added(key_step);
    });
  }

  // Writes the weights of a strip: what was made of its scores, and zeros for other keys.
  void put_weights(const StripView& strip) {
    const std::size_t keys = block_.sizes.keys, count = strip.any.end - strip.any.first;
    for (std::size_t r = 0; r < strip.rows; ++r) {
      float* const to = weights_ + (strip.row + r) * keys;
      const float* const from = scores_ + r * score_stride_ + strip.any.first;
      std::fill(to, to + strip.any.first, 0.0F);
      if (block_.reweighted != nullptr) {
        std::copy_n(from, count, to + strip.any.first);
      } else {
        const double sum = total_of(strip.row + r);
        WeightsOfPowers<float, float>(sum).put(from, count, to + strip.any.first);
      }
      std::fill(to + strip.any.end, to + keys, 0.0F);
    }
  }

  // Turns the scores of a row into weights, which are replaced.
  void reweigh(std::size_t row, const Range& strip, float* scores) {
    const Range whole = whole_tiles(strip), own{block_.mask.first[row], block_.mask.end[row]};
    if (!sees_any(row)) {
      std::fill(scores + whole.first, scores + whole.end, 0.0F);
      return;
    }
    const bool hides = block_.mask.added != nullptr || block_.mask.rewritten != nullptr;
    if (hides) {
      seen_.resize(block_.sizes.keys);
      for (std::size_t j = own.first; j < own.end; ++j) seen_[j] = scores[j] != -infinite<float>;
    }
    const Shift<float> shift = shift_for(row, whole, scores);
    const Floats d;
    double sum = 0;
    for (std::size_t j = whole.first; j < whole.end; j += 8 * key_step) {
      HWY_ALIGN std::array<float, lanes_of<float>> lanes{};
      const Range part{j, std::min(whole.end, j + 8 * key_step)};
      exponentials<true>(scores, part, shift, lanes.data());
      sum += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Load(d, lanes.data()))));
    }
    const double of_all = with_sink(sum, block_, shift.value);
    if (!std::isfinite(of_all) || (sum != 0 && sink_exceeds(block_, shift.value))) {
      in_range_ = false;
    }
    const auto factor = hn::Set(d, static_cast<float>(of_all == 0 ? 0 : 1 / of_all));
    for (std::size_t j = whole.first; j < whole.end; j += tile_side) {
      hn::StoreU(hn::Mul(hn::LoadU(d, scores + j), factor), d, scores + j);
    }
    if (sum == 0) return;
    *total(row) = 1;
    block_.reweighted(block_.mask.context, row, own.first, own.end - own.first,
                      hides ? seen_.data() + own.first : nullptr, scores + own.first);
  }

  static Range whole_tiles(const Range& seen) {
    return {seen.first / tile_depth * tile_depth, rounded_up(seen.end, tile_depth)};
  }

  // The powers of a row of a strip.
  std::uint16_t* powers_of(std::size_t r) const {
    return powers_ + r / tile_side * (key_step / tile_depth) * split_tile_numbers +
           r % tile_side * tile_depth;
  }

  void add_values() {
    const auto [row, base, first, end] = pending_;
    const std::uint16_t* left = powers_ + first * split_tile_numbers;
    const std::uint16_t* lower_left = left + key_step / tile_depth * split_tile_numbers;
    const std::size_t tile_row = key_steps_ * split_tile_numbers;
    for (std::size_t column = 0; first < end && column < output_width_; column += 2 * tile_side) {
      const std::uint16_t* right = values_ + column / tile_side * tile_row +
                                   (base / tile_depth + first) * split_tile_numbers;
      multiply_split_tiles({left, lower_left, right, right + tile_row, end - first},
                           sums(row) + column, output_width_, true);
    }
    pending_ = {};
  }

  // Applies expression, softcap and mask to the scores of a strip and the keys base + [seen).
  // Returns whether all rows see all keys.
  bool admit_strip(const StripView& strip, std::size_t base, const Range& seen, float* scores) {
    const Range whole = whole_tiles(seen);
    const bool full = sees_all(strip, base, whole);
    rewrite_scores(block_.mask, strip.row, strip.rows, base, seen, scores, score_stride_);
    for (std::size_t r = 0; r < strip.rows; ++r, scores += score_stride_) {
      admit(strip.row + r, full, base, seen, whole, scores);
      if (head_.unfit_count > 0 && sees_unfit(base, whole, scores)) in_range_ = false;
    }
    return full;
  }

  // Turns the scores of a strip against the keys base + [seen) into split exponentials.
  void soften(const StripView& strip, std::size_t base, const Range& seen) {
    const Range whole = whole_tiles(seen);
    const bool full = admit_strip(strip, base, seen, scores_);
    for (std::size_t r = 0; r < strip.rows; ++r) {
      const std::size_t row = strip.row + r;
      float* scores = scores_ + r * key_step;
      const Shift<float> shift = shift_for(row, whole, scores);
      if (full && sees_any(row)) {
        split_exponentials<false, false>(scores, whole, shift, total(row), powers_of(r));
      } else {
        split_exponentials<true, false>(scores, whole, shift, total(row), powers_of(r));
      }
    }
  }

  // Whether the masked scores show an unfit key.
  bool sees_unfit(std::size_t base, const Range& range, const float* scores) const {
    const std::uint32_t* const last = head_.unfit_keys + head_.unfit_count;
    const std::uint32_t* key = std::lower_bound<const std::uint32_t*>(
        head_.unfit_keys, last, static_cast<std::uint32_t>(base + range.first));
    for (; key != last && *key < base + range.end; ++key) {
      if (scores[*key - base] != -infinite<float>) return true;
    }
    return false;
  }

  // exponentials() as rows of split tiles; with `kept` also in the place of the scores.
  template <bool hidden, bool kept>
  static HWY_INLINE void split_exponentials(float* scores, const Range& range,
                                            const Shift<float>& shift, float* total,
                                            std::uint16_t* to) {
    const Floats d;
    const auto turned = hn::Set(d, shift.turned);
    const auto least = hn::Set(d, least_score(shift.turned));
    auto a = hn::Zero(d), b = a;
    for (std::size_t j = range.first; j < range.end; j += tile_depth) {
      const auto x = power_of_two<hidden>(d, hn::LoadU(d, scores + j), turned, least);
      const auto y = power_of_two<hidden>(d, hn::LoadU(d, scores + j + tile_side), turned, least);
      a = hn::Add(a, x);
      b = hn::Add(b, y);
      store_parts<3>(x, y, to + j / tile_depth * split_tile_numbers);
      if constexpr (kept) {
        hn::StoreU(x, d, scores + j);
        hn::StoreU(y, d, scores + j + tile_side);
      }
    }
    hn::StoreU(hn::Add(hn::LoadU(d, total), hn::Add(a, b)), d, total);
  }

  // Weights as rows of split tiles.
  static HWY_INLINE void split_weights(const float* weights, const Range& range,
                                       std::uint16_t* to) {
    const Floats d;
    for (std::size_t j = range.first; j < range.end; j += tile_depth) {
      store_parts<3>(hn::LoadU(d, weights + j), hn::LoadU(d, weights + j + tile_side),
                     to + j / tile_depth * split_tile_numbers);
    }
  }

  std::size_t width_steps_, key_steps_;
  bool in_range_;
  std::uint16_t *queries_, *powers_;
  const std::uint16_t *keys_, *values_;
  float *weights_, *scores_;
  std::size_t score_stride_;
  std::vector<std::uint8_t> seen_;  ///< of one row, where weights are replaced
  Powers pending_;
  std::array<StripView, most_strips> views_;
};

#endif

}  // namespace

#if HWY_TARGET == HWY_AVX3

std::size_t scratch_count(const HeadSizes& sizes, bool whole_rows) {
  return SplitBlock::scratch_count(sizes, whole_rows);
}
void pack_keys(const HeadSizes& sizes, const float* const* rows, PackedHead<float>& head) {
  head.key_rows = rows;
  split_keys<3>(sizes, rows, parts_in(head.keys), head);
}
void pack_values(const HeadSizes& sizes, const float* const* rows, PackedHead<float>& head) {
  head.value_rows = rows;
  split_values<3>(sizes, rows, parts_in(head.values), head);
}
BlockOutcome attend(const QueryBlock<float>& block, const PackedHead<float>& head, float* weights,
                    float* scratch) {
  return SplitBlock(block, head, weights, scratch).compute();
}

#else

// Never called: splits() is false where these are chosen.
std::size_t scratch_count(const HeadSizes&, bool) {
  return 0;
}
void pack_keys(const HeadSizes&, const float* const*, PackedHead<float>&) {}
void pack_values(const HeadSizes&, const float* const*, PackedHead<float>&) {}
BlockOutcome attend(const QueryBlock<float>&, const PackedHead<float>&, float*, float*) {
  return {.out_of_range = true};
}

#endif

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(scratch_count);
ATTN_FOR_TARGETS(pack_keys);
ATTN_FOR_TARGETS(pack_values);
ATTN_FOR_TARGETS(attend);

bool splits(const HeadSizes& sizes) noexcept {
  constexpr std::size_t least_widths = 40, least_keys = 32;
  return uses_matrix_tiles() && sizes.width + sizes.value_width >= least_widths &&
         sizes.keys >= least_keys;
}

// Each number has three parts, two of which fill a float.
std::size_t split_key_count(const HeadSizes& sizes) noexcept {
  return tiled_numbers(sizes.keys, sizes.width) * 3 / 2;
}

std::size_t split_value_count(const HeadSizes& sizes) noexcept {
  return tiled_numbers(sizes.keys, sizes.value_width) * 3 / 2;
}

std::size_t split_scratch_count(const HeadSizes& sizes, bool whole_rows) noexcept {
  return ATTN_OF_TARGET(scratch_count)(sizes, whole_rows);
}

void pack_split_keys(const HeadSizes& sizes, const float* const* rows,
                     PackedHead<float>& head) noexcept {
  ATTN_OF_TARGET(pack_keys)(sizes, rows, head);
}

void pack_split_values(const HeadSizes& sizes, const float* const* rows,
                       PackedHead<float>& head) noexcept {
  ATTN_OF_TARGET(pack_values)(sizes, rows, head);
}

BlockOutcome attend_split_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                                float* weights, float* scratch) noexcept {
  return ATTN_OF_TARGET(attend)(block, head, weights, scratch);
}

}  // namespace attn::kernels
#endif
