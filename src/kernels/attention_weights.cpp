#include "kernels/attention_weights.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention_weights.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention_rows_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

constexpr std::size_t step = 384;  // keys of which scores are computed at a time
constexpr std::size_t most_rows = rounded_up(query_block, tile_rows);
constexpr std::size_t line = 64;

template <class T>
constexpr std::size_t in_lines(std::size_t count) {
  return rounded_up(count, line / sizeof(T));
}

template <class T>
class Block {
 public:
  Block(const QueryBlock<T>& block, const PackedHead<T>& head, T* weights, T* scratch)
      : block_(block),
        head_(head),
        weights_(weights),
        width_(block.sizes.width),
        output_width_(rounded_up(block.sizes.value_width, columns_of<T>)),
        softcap_(static_cast<T>(block.softcap * log2_e)),
        queries_(scratch),
        sums_(queries_ + in_lines<T>(tile_rows * width_)),
        scores_(sums_ + tile_rows * output_width_),
        room_(scores_ + tile_rows * step) {}

  static std::size_t scratch_count(const HeadSizes& sizes) {
    return in_lines<T>(tile_rows * sizes.width) +
           tile_rows * rounded_up(sizes.value_width, columns_of<T>) + tile_rows * step + step;
  }

  BlockOutcome compute() {
    BlockOutcome outcome;
    for (std::size_t row = 0; row < block_.queries; row += tile_rows) {
      const std::size_t rows = std::min(tile_rows, block_.queries - row);
      const Range seen = view_of(block_.mask, row, rows).any;
      weigh(row, rows, seen, outcome);
      if (outcome.out_of_range) return outcome;
      if (block_.output != nullptr) multiply_values(row, rows, seen, outcome);
    }
    return outcome;
  }

 private:
  // The weights of a strip's rows.
  void weigh(std::size_t row, std::size_t rows, const Range& seen, BlockOutcome& outcome) {
    const std::size_t keys = block_.sizes.keys;
    std::array<const T*, tile_rows> starts{};
    for (std::size_t r = 0; r < rows; ++r) {
      starts[r] = block_.query + (row + r) * block_.query_stride;
    }
    const T largest_query = pack_rows<tile_rows>(starts.data(), rows, width_,
                                                 static_cast<T>(block_.scale * log2_e), queries_);
    outcome.out_of_range = !products_fit(largest_query, head_.largest_key, width_) ||
                           !values_fit(head_.largest_value, block_.sizes.keys);
    if (outcome.out_of_range) return;
    std::array<T, tile_rows> largest;
    largest.fill(-infinite<T>);
    T* weights = weights_ + row * keys;
    for (std::size_t base = 0; base < keys; base += step) {
      const std::size_t count = std::min(step, keys - base);
      const Range wanted = seen.within(base, count);
      if (wanted.empty()) continue;
      multiply_panels(queries_, 1, head_.keys + base * width_, width_, wanted, scores_, step);
      const Range whole{wanted.first / lanes_of<T> * lanes_of<T>,
                        rounded_up(wanted.end, lanes_of<T>)};
      for (std::size_t r = 0; r < rows; ++r) {
        T* scores = scores_ + r * step;
        mask_scores(block_.mask, softcap_, row + r, base, range_of(row + r).within(base, count),
                    whole, scores, room_);
        exceeded(scores, whole, largest[r]);
        std::copy(scores + wanted.first, scores + wanted.end,
                  weights + r * keys + base + wanted.first);
      }
    }
    for (std::size_t r = 0; r < rows; ++r) {
      soften(weights + r * keys, range_of(row + r), largest[r], outcome);
    }
  }

  Range range_of(std::size_t row) const { return {block_.mask.first[row], block_.mask.end[row]}; }

  // The softmax of one row in place.
  void soften(T* row, const Range& range, T largest, BlockOutcome& outcome) {
    const hn::ScalableTag<T> d;
    const std::size_t keys = block_.sizes.keys;
    if (range.empty()) {
      ++outcome.empty_rows;
      std::fill_n(row, keys, T(0));
      return;
    }
    if (block_.output != nullptr && sees_odd_key(row, range)) outcome.overflow = true;
    Shift<T> shift = Shift<T>::of(largest == -infinite<T> ? T(0) : largest);
    if (shift.outside()) {
      subtract(row, range, shift.value);
      shift = Shift<T>::of(0);
    }
    // Whole vectors first, then the rest of the range in a padded one.
    const std::size_t rest = (range.end - range.first) % lanes_of<T>;
    const std::size_t whole = range.end - rest;
    HWY_ALIGN std::array<T, lanes_of<T>> tail, total;
    tail.fill(-infinite<T>);
    total.fill(T(0));
    std::copy_n(row + whole, rest, tail.begin());
    exponentials<true>(row, {range.first, whole}, shift, total.data());
    exponentials<true>(tail.data(), {0, lanes_of<T>}, shift, total.data());
    const T sum = hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, total.data())));
    if (sum == 0) ++outcome.empty_rows;
    if (!std::isfinite(sum)) outcome.overflow = true;
    std::copy_n(tail.begin(), rest, row + whole);
    std::fill(row, row + range.first, T(0));
    std::fill(row + range.end, row + keys, T(0));
    multiply(row + range.first, range.end - range.first, sum == 0 ? T(0) : 1 / sum);
  }

  // Whether the query sees a key whose value is not finite.
  bool sees_odd_key(const T* scores, const Range& range) const {
    return std::any_of(head_.odd_keys, head_.odd_keys + head_.odd_count, [&](std::uint32_t key) {
      return key >= range.first && key < range.end && scores[key] != -infinite<T>;
    });
  }

  void multiply_values(std::size_t row, std::size_t rows, const Range& seen,
                       BlockOutcome& outcome) {
    const std::size_t keys = block_.sizes.keys;
    const T* weights = weights_ + row * keys;
    std::fill_n(sums_, tile_rows * output_width_, T(0));
    std::size_t stride = keys;
    for (std::size_t k = seen.first; k < seen.end; k += step) {
      const std::size_t depth = std::min(step, seen.end - k);
      const T* left = weights + k;
      if (rows < tile_rows) {
        // The tile reads all its rows; those beyond the last are zeros.
        for (std::size_t r = 0; r < tile_rows; ++r) {
          T* copy = scores_ + r * step;
          if (r < rows) {
            std::copy_n(weights + r * keys + k, depth, copy);
          } else {
            std::fill_n(copy, depth, T(0));
          }
        }
        left = scores_;
        stride = step;
      }
      for (std::size_t column = 0; column < output_width_; column += columns_of<T>) {
        const T* panel = head_.values + column * keys + k * columns_of<T>;
        multiply_tile<false>(left, stride, panel, depth, sums_ + column, output_width_, true);
      }
    }
    for (std::size_t r = 0; r < rows; ++r) {
      const T* from = sums_ + r * output_width_;
      T* to = block_.output + (row + r) * block_.output_stride;
      std::copy_n(from, block_.sizes.value_width, to);
      if (!all_finite(to, block_.sizes.value_width)) outcome.overflow = true;
    }
  }

  const QueryBlock<T>& block_;
  const PackedHead<T>& head_;
  T* weights_;
  std::size_t width_, output_width_;
  T softcap_;
  T *queries_, *sums_, *scores_, *room_;
};

}  // namespace

std::size_t weights_floats(const HeadSizes& sizes) {
  return Block<float>::scratch_count(sizes);
}
std::size_t weights_doubles(const HeadSizes& sizes) {
  return Block<double>::scratch_count(sizes);
}
BlockOutcome weigh_floats(const QueryBlock<float>& block, const PackedHead<float>& head,
                          float* weights, float* scratch) {
  return Block<float>(block, head, weights, scratch).compute();
}
BlockOutcome weigh_doubles(const QueryBlock<double>& block, const PackedHead<double>& head,
                           double* weights, double* scratch) {
  return Block<double>(block, head, weights, scratch).compute();
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

HWY_EXPORT(weights_floats);
HWY_EXPORT(weights_doubles);
HWY_EXPORT(weigh_floats);
HWY_EXPORT(weigh_doubles);

template <>
std::size_t weights_scratch_count<float>(const HeadSizes& sizes) noexcept {
  return HWY_DYNAMIC_DISPATCH(weights_floats)(sizes);
}
template <>
std::size_t weights_scratch_count<double>(const HeadSizes& sizes) noexcept {
  return HWY_DYNAMIC_DISPATCH(weights_doubles)(sizes);
}

BlockOutcome weigh_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                         float* weights, float* scratch) noexcept {
  return HWY_DYNAMIC_DISPATCH(weigh_floats)(block, head, weights, scratch);
}
BlockOutcome weigh_block(const QueryBlock<double>& block, const PackedHead<double>& head,
                         double* weights, double* scratch) noexcept {
  return HWY_DYNAMIC_DISPATCH(weigh_doubles)(block, head, weights, scratch);
}

}  // namespace attn::kernels
#endif
