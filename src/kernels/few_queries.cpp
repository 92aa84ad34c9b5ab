#include "kernels/few_queries.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/few_queries.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention_rows_inl.hpp"
#include "kernels/odd_values_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

constexpr std::size_t step = 64;  // keys that all queries see before the next are read

// sums += Σ_j factors[j] rows[j] over up to `step` rows, each sum in a register: of even and odd
// rows, so that few are added one after the other.
template <std::size_t vectors, class T>
HWY_INLINE void add_columns(const T* factors, const T* const* rows, std::size_t count,
                            std::size_t column, T* sums) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t size = lanes_of<T>;
  using V = hn::Vec<decltype(d)>;
  V even[vectors], odd[vectors];
#pragma GCC unroll 4
  for (std::size_t v = 0; v < vectors; ++v) even[v] = odd[v] = hn::Zero(d);
  std::size_t j = 0;
  for (; j + 2 <= count; j += 2) {
    const V first = hn::Set(d, factors[j]), second = hn::Set(d, factors[j + 1]);
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) {
      even[v] = hn::MulAdd(first, hn::LoadU(d, rows[j] + column + v * size), even[v]);
      odd[v] = hn::MulAdd(second, hn::LoadU(d, rows[j + 1] + column + v * size), odd[v]);
    }
  }
  if (j < count) {
    const V last = hn::Set(d, factors[j]);
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) {
      even[v] = hn::MulAdd(last, hn::LoadU(d, rows[j] + column + v * size), even[v]);
    }
  }
#pragma GCC unroll 4
  for (std::size_t v = 0; v < vectors; ++v) {
    T* const to = sums + column + v * size;
    hn::StoreU(hn::Add(hn::LoadU(d, to), hn::Add(even[v], odd[v])), d, to);
  }
}

template <class T>
void add_rows(const T* factors, const T* const* rows, std::size_t count, std::size_t width,
              T* sums) {
  constexpr std::size_t size = lanes_of<T>;
  std::size_t k = 0;
  for (; k + 4 * size <= width; k += 4 * size) add_columns<4>(factors, rows, count, k, sums);
  for (; k + size <= width; k += size) add_columns<1>(factors, rows, count, k, sums);
  for (; k < width; ++k) {
    T even = 0, odd = 0;
    for (std::size_t j = 0; j < count; ++j) (j % 2 == 0 ? even : odd) += factors[j] * rows[j][k];
    sums[k] += even + odd;
  }
}

// One query and what some keys contribute to it.
template <class T>
struct Partial {
  T *sums, *shift, *total;

  static Partial at(T* partial, std::size_t query, const HeadSizes& sizes) {
    T* row = partial + query * (sizes.value_width + 2);
    return {row, row + sizes.value_width, row + sizes.value_width + 1};
  }

  void multiply_by(T factor, std::size_t width) {
    for (std::size_t k = 0; k < width; ++k) sums[k] *= factor;
    *total *= factor;
  }
};

// Some keys of a head.
template <class T>
struct KeyStep {
  Range range{};
  // Of those whose values are finite: their values, and their places in the range.
  std::array<const T*, step> values;
  std::array<std::size_t, step> places;
  std::size_t count = 0;
};

template <class T>
void add_keys(const QueryBlock<T>& block, const PackedHead<T>& head, std::size_t query,
              const KeyStep<T>& keys, Partial<T>& partial, T& largest) {
  HWY_ALIGN std::array<T, step> scores{}, room;
  HWY_ALIGN std::array<T, lanes_of<T>> total{};
  const std::size_t first = keys.range.first;
  const Range own =
      Range{block.mask.first[query], block.mask.end[query]}.within(first, keys.range.end - first);
  if (own.empty()) return;
  const T* q = block.query + query * block.query_stride;
  const T factor = static_cast<T>(block.scale * log2_e);
  for (std::size_t j = own.first; j < own.end; ++j) {
    const T score = dot_product(q, head.key_rows[first + j], block.sizes.width) * factor;
    scores[j] = score == score ? score : std::numeric_limits<T>::quiet_NaN();
  }
  const Range whole{0, rounded_up(keys.range.end - first, lanes_of<T>)};
  mask_scores(block.mask, static_cast<T>(block.softcap * log2_e), query, first, own, whole,
              scores.data(), room.data());
  if (exceeded(scores.data(), whole, largest)) {
    const T now = Shift<T>::of(largest).value;
    if (*partial.total != 0) {
      partial.multiply_by(std::exp2(*partial.shift - now), block.sizes.value_width);
    }
    *partial.shift = now;
  }
  Shift<T> shift = Shift<T>::of(largest == -infinite<T> ? T(0) : largest);
  if (shift.outside()) subtract(scores.data(), whole, shift.value);
  exponentials<true>(scores.data(), whole, shift, total.data());
  const hn::ScalableTag<T> d;
  *partial.total += hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, total.data())));
  std::array<T, step> factors;
  for (std::size_t j = 0; j < keys.count; ++j) factors[j] = scores[keys.places[j]];
  add_rows(factors.data(), keys.values.data(), keys.count, block.sizes.value_width, partial.sums);
}

// A total that says that scores or sums may leave the range of T.
template <class T>
constexpr T out_of_range = -1;

template <class T>
bool attend(const QueryBlock<T>& block, const PackedHead<T>& head, std::size_t first,
            std::size_t count, T* partial) {
  const HeadSizes& sizes = block.sizes;
  std::array<T, few_queries> largest;
  largest.fill(-infinite<T>);
  std::fill_n(partial, partial_count(block.queries, sizes), T(0));
  T longest_query = 0;
  for (std::size_t i = 0; i < block.queries; ++i) {
    const T* row = block.query + i * block.query_stride;
    longest_query = std::max(longest_query, length_of(row, sizes.width));
  }
  const T scaled_query = longest_query * std::abs(static_cast<T>(block.scale * log2_e));
  const ScoreLimits limits = score_limits<T>(sizes.width);
  bool odd = false;
  for (std::size_t key = first; key < first + count; key += step) {
    KeyStep<T> keys;
    keys.range = {key, std::min(key + step, first + count)};
    T longest_key = 0, largest_value = 0;
    const Extent<T> all = extent_of(head.value_rows + key, keys.range.end - key, sizes.value_width);
    for (std::size_t j = keys.range.first; j < keys.range.end; ++j) {
      longest_key = std::max(longest_key, length_of(head.key_rows[j], sizes.width));
      const Extent<T> extent = all.finite ? all : extent_of(head.value_rows[j], sizes.value_width);
      largest_value = std::max(largest_value, extent.largest);
      odd = odd || !extent.finite;
      if (!extent.finite) continue;
      keys.values[keys.count] = head.value_rows[j];
      keys.places[keys.count++] = j - key;
    }
    // The scale comes last: the product before it may not leave the range either.
    if (!limits.hold(scaled_query, longest_key) || !(longest_query * longest_key < infinite<T>) ||
        !values_fit(largest_value, sizes.keys)) {
      *Partial<T>::at(partial, 0, sizes).total = out_of_range<T>;
      return odd;
    }
    for (std::size_t i = 0; i < block.queries; ++i) {
      Partial<T> own = Partial<T>::at(partial, i, sizes);
      add_keys(block, head, i, keys, own, largest[i]);
    }
  }
  return odd;
}

template <class T>
BlockOutcome merge(const QueryBlock<T>& block, const PackedHead<T>& head, T* partials,
                   std::size_t parts) {
  const std::size_t width = block.sizes.value_width;
  const std::size_t stride = partial_count(block.queries, block.sizes);
  const ScoreLimits limits = score_limits<T>(block.sizes.width);
  BlockOutcome outcome;
  for (std::size_t i = 0; i < block.queries; ++i) {
    const auto part = [&](std::size_t p) {
      return Partial<T>::at(partials + p * stride, i, block.sizes);
    };
    // 1. Of each part that saw a key, what its sums are multiplied by.
    T shift = -infinite<T>;
    for (std::size_t p = 0; p < parts; ++p) {
      if (*part(p).total == out_of_range<T>) return {.out_of_range = true};
      if (*part(p).total != 0) shift = std::max(shift, *part(p).shift);
    }
    double total = 0;
    for (std::size_t p = 0; p < parts; ++p) {
      T& factor = *part(p).shift;
      factor = *part(p).total == 0 ? T(0) : std::exp2(factor - shift);
      total += static_cast<double>(*part(p).total) * static_cast<double>(factor);
    }
    if (total != 0 && sink_exceeds(block, shift)) outcome.out_of_range = true;
    total = with_sink(total, block, shift);
    // 2. Their sum, in double precision, some columns at a time.
    T* const to = block.output + i * block.output_stride;
    for (std::size_t column = 0; column < width; column += step) {
      const std::size_t count = std::min(step, width - column);
      std::array<double, step> sums{};
      for (std::size_t p = 0; p < parts; ++p) {
        const auto factor = static_cast<double>(*part(p).shift);
        const T* const from = part(p).sums + column;
        for (std::size_t k = 0; k < count; ++k) sums[k] += static_cast<double>(from[k]) * factor;
      }
      for (std::size_t k = 0; k < count; ++k) {
        to[column + k] = total == 0 ? T(0) : static_cast<T>(sums[k] / total);
      }
    }
    if (total == 0) {
      ++outcome.empty_rows;
      continue;
    }
    if (!std::isfinite(total) || !all_finite(to, width)) outcome.overflow = true;
    if (limits.exceeded(shift)) outcome.out_of_range = true;
    if (head.odd_count > 0) add_odd_values(block, head, i, shift, total, to);
  }
  return outcome;
}

}  // namespace

bool attend_float_keys(const QueryBlock<float>& block, const PackedHead<float>& head,
                       std::size_t first, std::size_t count, float* partial) {
  return attend(block, head, first, count, partial);
}
bool attend_double_keys(const QueryBlock<double>& block, const PackedHead<double>& head,
                        std::size_t first, std::size_t count, double* partial) {
  return attend(block, head, first, count, partial);
}
BlockOutcome merge_floats(const QueryBlock<float>& block, const PackedHead<float>& head,
                          float* partials, std::size_t parts) {
  return merge(block, head, partials, parts);
}
BlockOutcome merge_doubles(const QueryBlock<double>& block, const PackedHead<double>& head,
                           double* partials, std::size_t parts) {
  return merge(block, head, partials, parts);
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

HWY_EXPORT(attend_float_keys);
HWY_EXPORT(attend_double_keys);
HWY_EXPORT(merge_floats);
HWY_EXPORT(merge_doubles);

bool attend_keys(const QueryBlock<float>& block, const PackedHead<float>& head, std::size_t first,
                 std::size_t count, float* partial) noexcept {
  return HWY_DYNAMIC_DISPATCH(attend_float_keys)(block, head, first, count, partial);
}
bool attend_keys(const QueryBlock<double>& block, const PackedHead<double>& head, std::size_t first,
                 std::size_t count, double* partial) noexcept {
  return HWY_DYNAMIC_DISPATCH(attend_double_keys)(block, head, first, count, partial);
}

BlockOutcome merge_partials(const QueryBlock<float>& block, const PackedHead<float>& head,
                            float* partials, std::size_t parts) noexcept {
  return HWY_DYNAMIC_DISPATCH(merge_floats)(block, head, partials, parts);
}
BlockOutcome merge_partials(const QueryBlock<double>& block, const PackedHead<double>& head,
                            double* partials, std::size_t parts) noexcept {
  return HWY_DYNAMIC_DISPATCH(merge_doubles)(block, head, partials, parts);
}

}  // namespace attn::kernels
#endif
