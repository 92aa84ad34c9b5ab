#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention_weights.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention_rows_inl.hpp"
#include "kernels/long_sums_inl.hpp"
#include "kernels/target_dispatch.hpp"
#include "kernels/weights_of_powers_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

constexpr std::size_t step = 384;  // keys whose scores are computed at a time

// Weights of type W from powers of type T, which are stored where the weights go if both are
// equally large.
template <class T, class W>
class Block {
  static constexpr bool in_place = sizeof(T) == sizeof(W);

 public:
  Block(const QueryBlock<T>& block, const PackedHead<T>& head, W* weights, T* scratch)
      : Block(block, head, weights, Parts(block.sizes, scratch)) {}

  static std::size_t scratch_count(const HeadSizes& sizes) { return Parts(sizes, nullptr).count; }

  BlockOutcome compute() {
    const std::size_t keys = block_.sizes.keys;
    for (std::size_t row = 0; row < block_.queries; row += tile_rows) {
      const std::size_t rows = std::min(tile_rows, block_.queries - row);
      const Range seen = view_of(block_.mask, row, rows).any;
      if constexpr (in_place) powers_ = weights_ + row * keys;
      weigh(row, rows, seen);
      if (outcome_.out_of_range) return outcome_;
      for (std::size_t r = 0; r < rows; ++r) {
        W* const weights = weights_ + (row + r) * keys;
        std::fill(weights, weights + seen.first, W(0));
        std::fill(weights + seen.end, weights + keys, W(0));
      }
      sums_.clear();
      for (std::size_t k = seen.first; k < seen.end; k += step) {
        const std::size_t depth = std::min(step, seen.end - k);
        if (block_.output != nullptr) add_values(rows, k, depth);
        for (std::size_t r = 0; r < rows; ++r) {
          const T* const powers = powers_ + r * stride_ + k;
          W* const weights = weights_ + (row + r) * keys + k;
          if (block_.reweighted == nullptr) {
            row_[r].weights.put(powers, depth, weights);
          } else if constexpr (!in_place) {
            std::transform(powers, powers + depth, weights,
                           [](T weight) { return static_cast<W>(weight); });
          }
        }
      }
      if (block_.output != nullptr) put_output(row, rows);
    }
    return outcome_;
  }

 private:
  // The parts of the scratch.
  struct Parts {
    T *queries, *sums, *scores, *room, *powers;
    std::size_t count = 0;

    Parts(const HeadSizes& sizes, T* scratch) {
      ScratchParts<T> cut(scratch);
      queries = cut.next(tile_rows * sizes.width);
      sums = cut.next(LongSums<T>::scratch_count(sums_count(sizes)));
      scores = cut.next(tile_rows * step);
      room = cut.next(step);
      powers = cut.next(in_place ? 0 : tile_rows * sizes.keys);
      count = cut.count();
    }
    static std::size_t sums_count(const HeadSizes& sizes) {
      return tile_rows * rounded_up(sizes.value_width, columns_of<T>);
    }
  };

  // Results of one row.
  struct Row {
    T shift = 0;
    double total = 0;
    WeightsOfPowers<T, W> weights;
  };

  Block(const QueryBlock<T>& block, const PackedHead<T>& head, W* weights, const Parts& parts)
      : block_(block),
        head_(head),
        weights_(weights),
        width_(block.sizes.width),
        output_width_(rounded_up(block.sizes.value_width, columns_of<T>)),
        stride_(block.sizes.keys),
        limits_(score_limits<T>(width_, block.mask.steepness)),
        softcap_(static_cast<T>(block.softcap * log2_e)),
        queries_(parts.queries),
        scores_(parts.scores),
        room_(parts.room),
        powers_(parts.powers),
        sums_(parts.sums, Parts::sums_count(block.sizes)) {}

  // Computes the powers of the rows of a strip.
  void weigh(std::size_t row, std::size_t rows, const Range& seen) {
    const std::size_t keys = block_.sizes.keys;
    std::array<const T*, tile_rows> starts{};
    for (std::size_t r = 0; r < rows; ++r) {
      starts[r] = block_.query + (row + r) * block_.query_stride;
    }
    const T longest_query = pack_rows<tile_rows>(starts.data(), rows, width_,
                                                 static_cast<T>(block_.scale * log2_e), queries_);
    outcome_.out_of_range =
        !limits_.hold(longest_query, head_.longest_key) || !values_fit(head_.largest_value, keys);
    if (outcome_.out_of_range) return;
    std::array<T, tile_rows> largest;
    largest.fill(-infinite<T>);
    for (std::size_t base = 0; base < keys; base += step) {
      const std::size_t count = std::min(step, keys - base);
      const Range wanted = seen.within(base, count);
      if (wanted.empty()) continue;
      multiply_panels(queries_, 1, head_.keys + base * width_, width_, wanted, scores_, step);
      const Range whole{wanted.first / lanes_of<T> * lanes_of<T>,
                        rounded_up(wanted.end, lanes_of<T>)};
      rewrite_scores(block_.mask, row, rows, base, wanted, scores_, step);
      for (std::size_t r = 0; r < rows; ++r) {
        T* scores = scores_ + r * step;
        mask_scores(block_.mask, softcap_, row + r, base, range_of(row + r).within(base, count),
                    whole, scores, room_);
        exceeded(scores, whole, largest[r]);
        std::copy(scores + wanted.first, scores + wanted.end,
                  powers_ + r * stride_ + base + wanted.first);
      }
    }
    for (std::size_t r = 0; r < rows; ++r) {
      if (limits_.exceeded(largest[r])) outcome_.out_of_range = true;
      T* const powers = powers_ + r * stride_;
      if (block_.reweighted != nullptr) note_seen(powers, range_of(row + r));
      soften(powers, range_of(row + r), seen, largest[r], row_[r]);
      if (block_.reweighted != nullptr) reweigh(row + r, powers, row_[r]);
    }
  }

  Range range_of(std::size_t row) const { return {block_.mask.first[row], block_.mask.end[row]}; }

  // Turns the scores of one row into powers.
  void soften(T* scores, const Range& range, const Range& seen, T largest, Row& row) {
    row = {};
    if (range.empty()) {
      std::fill(scores + seen.first, scores + seen.end, T(0));
    } else {
      Shift<T> shift = Shift<T>::of(largest == -infinite<T> ? T(0) : largest);
      row.shift = shift.value;
      if (shift.outside()) subtract(scores, range, shift.value);
      // Whole vectors first, then the rest of the range in a padded one.
      const std::size_t rest = (range.end - range.first) % lanes_of<T>;
      const std::size_t whole = range.end - rest;
      HWY_ALIGN std::array<T, lanes_of<T>> tail;
      tail.fill(-infinite<T>);
      std::copy_n(scores + whole, rest, tail.begin());
      for (std::size_t first = range.first; first < whole; first += step) {
        row.total += exponentials_sum(scores, {first, std::min(first + step, whole)}, shift);
      }
      row.total += exponentials_sum(tail.data(), {0, lanes_of<T>}, shift);
      std::copy_n(tail.begin(), rest, scores + whole);
      std::fill(scores + seen.first, scores + range.first, T(0));
      std::fill(scores + range.end, scores + seen.end, T(0));
    }
    if (row.total == 0) {
      ++outcome_.empty_rows;
    } else if (sink_exceeds(block_, row.shift)) {
      outcome_.out_of_range = true;
    }
    row.total = with_sink(row.total, block_, row.shift);
    if (!std::isfinite(row.total)) outcome_.overflow = true;
    row.weights = WeightsOfPowers<T, W>(row.total);
  }

  // Notes which keys of a row of scores are not hidden.
  void note_seen(const T* scores, const Range& range) {
    if (block_.mask.added == nullptr && block_.mask.rewritten == nullptr) return;
    seen_.resize(block_.sizes.keys);
    for (std::size_t j = range.first; j < range.end; ++j) seen_[j] = scores[j] != -infinite<T>;
  }

  // Turns the powers of a row into weights and replaces these.
  void reweigh(std::size_t query, T* powers, Row& row) {
    const Range range = range_of(query);
    if (range.empty() || row.total == 0 || outcome_.overflow) return;
    const auto factor = static_cast<T>(1 / row.total);
    for (std::size_t j = range.first; j < range.end; ++j) powers[j] *= factor;
    block_.reweighted(block_.mask.context, query, range.first, range.end - range.first,
                      seen_.empty() ? nullptr : seen_.data() + range.first, powers + range.first);
    row.total = 1;
  }

  static double exponentials_sum(T* scores, const Range& range, const Shift<T>& shift) {
    HWY_ALIGN std::array<T, lanes_of<T>> total{};
    exponentials<true>(scores, range, shift, total.data());
    const hn::ScalableTag<T> d;
    return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, total.data()))));
  }

  // Adds the powers times the values of keys [key, key + depth).
  void add_values(std::size_t rows, std::size_t key, std::size_t depth) {
    const T* left = powers_ + key;
    std::size_t stride = stride_;
    if (rows < tile_rows) {
      // The tile reads all its rows: zeros stand in for those beyond the last.
      for (std::size_t r = 0; r < tile_rows; ++r) {
        T* copy = scores_ + r * step;
        if (r < rows) {
          std::copy_n(powers_ + r * stride_ + key, depth, copy);
        } else {
          std::fill_n(copy, depth, T(0));
        }
      }
      left = scores_;
      stride = step;
    }
    for (std::size_t column = 0; column < output_width_; column += columns_of<T>) {
      const T* panel = head_.values + column * block_.sizes.keys + key * columns_of<T>;
      add_products<false>(left, stride, panel, depth, sums_.at(column), output_width_);
    }
    sums_.added(depth);
  }

  void put_output(std::size_t row, std::size_t rows) {
    for (std::size_t r = 0; r < rows; ++r) {
      T* to = block_.output + (row + r) * block_.output_stride;
      const double factor = row_[r].total == 0 ? 0 : 1 / row_[r].total;
      sums_.put(r * output_width_, block_.sizes.value_width, factor, to);
      if (!all_finite(to, block_.sizes.value_width)) outcome_.overflow = true;
      if (head_.non_finite_count > 0) {
        add_non_finite_values(block_, head_, row + r, row_[r].shift, row_[r].total, to);
      }
    }
  }

  const QueryBlock<T>& block_;
  const PackedHead<T>& head_;
  W* weights_;
  std::size_t width_, output_width_, stride_;
  ScoreLimits limits_;
  T softcap_;
  T *queries_, *scores_, *room_, *powers_;
  LongSums<T> sums_;
  std::array<Row, tile_rows> row_;
  std::vector<std::uint8_t> seen_;  ///< of one row, where weights are replaced
  BlockOutcome outcome_;
};

}  // namespace

std::size_t weights_floats(const HeadSizes& sizes) {
  return Block<float, float>::scratch_count(sizes);
}
std::size_t weights_doubles(const HeadSizes& sizes) {
  return Block<double, double>::scratch_count(sizes);
}
std::size_t doubles_as_floats(const HeadSizes& sizes) {
  return Block<double, float>::scratch_count(sizes);
}
BlockOutcome weigh_floats(const QueryBlock<float>& block, const PackedHead<float>& head,
                          float* weights, float* scratch) {
  return Block<float, float>(block, head, weights, scratch).compute();
}
BlockOutcome weigh_doubles(const QueryBlock<double>& block, const PackedHead<double>& head,
                           double* weights, double* scratch) {
  return Block<double, double>(block, head, weights, scratch).compute();
}
BlockOutcome weigh_doubles_as_floats(const QueryBlock<double>& block,
                                     const PackedHead<double>& head, float* weights,
                                     double* scratch) {
  return Block<double, float>(block, head, weights, scratch).compute();
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(weights_floats);
ATTN_FOR_TARGETS(weights_doubles);
ATTN_FOR_TARGETS(doubles_as_floats);
ATTN_FOR_TARGETS(weigh_floats);
ATTN_FOR_TARGETS(weigh_doubles);
ATTN_FOR_TARGETS(weigh_doubles_as_floats);

template <>
std::size_t weights_scratch_count<float, float>(const HeadSizes& sizes) noexcept {
  return ATTN_OF_TARGET(weights_floats)(sizes);
}
template <>
std::size_t weights_scratch_count<double, double>(const HeadSizes& sizes) noexcept {
  return ATTN_OF_TARGET(weights_doubles)(sizes);
}
template <>
std::size_t weights_scratch_count<double, float>(const HeadSizes& sizes) noexcept {
  return ATTN_OF_TARGET(doubles_as_floats)(sizes);
}

BlockOutcome weigh_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                         float* weights, float* scratch) noexcept {
  return ATTN_OF_TARGET(weigh_floats)(block, head, weights, scratch);
}
BlockOutcome weigh_block(const QueryBlock<double>& block, const PackedHead<double>& head,
                         double* weights, double* scratch) noexcept {
  return ATTN_OF_TARGET(weigh_doubles)(block, head, weights, scratch);
}
BlockOutcome weigh_block(const QueryBlock<double>& block, const PackedHead<double>& head,
                         float* weights, double* scratch) noexcept {
  return ATTN_OF_TARGET(weigh_doubles_as_floats)(block, head, weights, scratch);
}

}  // namespace attn::kernels
#endif
