#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/attention_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/few_queries.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention_rows_inl.hpp"
#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

constexpr std::size_t step = 64;  // keys that are read once for all queries

// sums += Σ_j factors[j] rows[j] over up to `step` rows. Two registers per vector of sums, for even
// and odd rows, halve the chain of additions.
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

constexpr std::size_t rows_together = 4;

// to[i] = the sum of the lanes of the i-th of four vectors.
template <class D, class V, class T>
HWY_INLINE void sums_of_lanes(D d, V a, V b, V c, V e, T* to) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == sizeof(float)) {
    // Each group of four lanes is added up by twos: four vectors become one, in which lane i of
    // each group belongs to vector i. The groups are added last.
    const hn::Repartition<double, D> pairs;
    const auto ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
    const auto ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
    const auto x = hn::BitCast(pairs, ab), y = hn::BitCast(pairs, ce);
    const auto fours = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, x, y)),
                               hn::BitCast(d, hn::InterleaveUpper(pairs, x, y)));
    HWY_ALIGN T lanes[lanes_of<T>];
    hn::Store(fours, d, lanes);
    const hn::FixedTag<T, rows_together> four;
    auto sums = hn::Load(four, lanes);
    for (std::size_t i = rows_together; i < lanes_of<T>; i += rows_together) {
      sums = hn::Add(sums, hn::Load(four, lanes + i));
    }
    hn::StoreU(sums, four, to);
    return;
  }
#endif
  to[0] = hn::GetLane(hn::SumOfLanes(d, a));
  to[1] = hn::GetLane(hn::SumOfLanes(d, b));
  to[2] = hn::GetLane(hn::SumOfLanes(d, c));
  to[3] = hn::GetLane(hn::SumOfLanes(d, e));
}

// to[r] = q · rows[r] for four rows.
template <class T>
HWY_INLINE void multiply_four(const T* q, const T* const* rows, std::size_t width, T* to) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t size = lanes_of<T>;
  using V = hn::Vec<decltype(d)>;
  V even[rows_together], odd[rows_together];
#pragma GCC unroll 4
  for (std::size_t r = 0; r < rows_together; ++r) even[r] = odd[r] = hn::Zero(d);
  std::size_t k = 0;
  for (; k + 2 * size <= width; k += 2 * size) {
    const V x = hn::LoadU(d, q + k), y = hn::LoadU(d, q + k + size);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < rows_together; ++r) {
      even[r] = hn::MulAdd(x, hn::LoadU(d, rows[r] + k), even[r]);
      odd[r] = hn::MulAdd(y, hn::LoadU(d, rows[r] + k + size), odd[r]);
    }
  }
  for (; k < width; k += size) {
    const V x = first_numbers(d, q + k, width - k);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < rows_together; ++r) {
      even[r] = hn::MulAdd(x, first_numbers(d, rows[r] + k, width - k), even[r]);
    }
  }
  sums_of_lanes(d, hn::Add(even[0], odd[0]), hn::Add(even[1], odd[1]), hn::Add(even[2], odd[2]),
                hn::Add(even[3], odd[3]), to);
}

// to[j] = q · rows[j] for the rows of a range.
template <class T>
void multiply_keys(const T* q, const T* const* rows, const Range& some, std::size_t width, T* to) {
  std::size_t j = some.first;
  for (; j + rows_together <= some.end; j += rows_together) {
    multiply_four(q, rows + j, width, to + j);
  }
  for (; j < some.end; ++j) to[j] = dot_product(q, rows[j], width);
}

// The partial result of one query over some keys.
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

// Up to `step` keys of a head.
template <class T>
struct KeyStep {
  Range range{};
  // The keys whose values are finite: their values, and their places in the range.
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
  multiply_keys(q, head.key_rows + first, own, block.sizes.width, scores.data());
  for (std::size_t j = own.first; j < own.end; ++j) {
    const T score = scores[j] * factor;
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

// Stored as the total of the first query of a block: scores or sums may leave the range of T.
template <class T>
constexpr T out_of_range = -1;

// Blocks that share one pass over the keys.
constexpr std::size_t blocks_together = 16;

// The length of the longest query of a block, without and with the scale.
template <class T>
struct QueryLengths {
  T longest = 0, scaled = 0;

  static QueryLengths of(const QueryBlock<T>& block) {
    QueryLengths lengths;
    for (std::size_t i = 0; i < block.queries; ++i) {
      lengths.longest = std::max(
          lengths.longest, length_of(block.query + i * block.query_stride, block.sizes.width));
    }
    lengths.scaled = lengths.longest * std::abs(static_cast<T>(block.scale * log2_e));
    return lengths;
  }

  // Whether scores of keys up to that length are within the limits. The scale is applied last, so
  // that the product before it has to stay in range too.
  bool fit(T longest_key, const ScoreLimits& limits) const {
    return limits.hold(scaled, longest_key) && longest * longest_key < infinite<T>;
  }
};

// An upper bound of the lengths of some rows; infinity if a number is not finite. It adds up, lane
// by lane, the largest squares of all rows: one sum over lanes for all of them, and little more
// than the longest row for rows of one distribution.
template <class T>
T length_bound(const T* const* rows, std::size_t count, std::size_t width) {
  const hn::ScalableTag<T> d;
  const auto zero = hn::Zero(d);
  auto most = zero, not_finite = zero;
  for (std::size_t i = 0; i < count; ++i) {
    const auto squares = squares_in_lanes(d, rows[i], width);
    not_finite = hn::MulAdd(squares, zero, not_finite);
    most = larger(d, squares, most);
  }
  if (!hn::AllTrue(d, hn::Eq(not_finite, zero))) return infinite<T>;
  return length_of_squares(hn::GetLane(hn::SumOfLanes(d, most)), width);
}

template <class T>
void attend_together(std::span<const QueryBlock<T>* const> blocks, const PackedHead<T>& head,
                     std::size_t first, std::size_t count, T* partials, std::size_t stride,
                     bool& any_not_finite) {
  const HeadSizes& sizes = blocks.front()->sizes;
  std::array<std::array<T, few_queries>, blocks_together> largest;
  std::array<QueryLengths<T>, blocks_together> queries;
  std::array<bool, blocks_together> fits;
  fits.fill(true);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    largest[b].fill(-infinite<T>);
    queries[b] = QueryLengths<T>::of(*blocks[b]);
    std::fill_n(partials + b * stride, partial_count(blocks[b]->queries, sizes), T(0));
  }
  const ScoreLimits limits = score_limits<T>(sizes.width);
  for (std::size_t key = first; key < first + count; key += step) {
    // 1. Lengths of the keys, and the values that are finite.
    KeyStep<T> keys;
    keys.range = {key, std::min(key + step, first + count)};
    const std::size_t present = keys.range.end - key;
    T longest_key = length_bound(head.key_rows + key, present, sizes.width), largest_value = 0;
    const auto all_fit = [&] {
      for (std::size_t b = 0; b < blocks.size(); ++b) {
        if (fits[b] && !queries[b].fit(longest_key, limits)) return false;
      }
      return true;
    };
    if (!all_fit()) {
      longest_key = 0;
      for (std::size_t j = key; j < keys.range.end; ++j) {
        longest_key = std::max(longest_key, length_of(head.key_rows[j], sizes.width));
      }
    }
    const Extent<T> all = extent_of(head.value_rows + key, present, sizes.value_width);
    for (std::size_t j = keys.range.first; j < keys.range.end; ++j) {
      const Extent<T> extent = all.finite ? all : extent_of(head.value_rows[j], sizes.value_width);
      largest_value = std::max(largest_value, extent.largest);
      any_not_finite = any_not_finite || !extent.finite;
      if (!extent.finite) continue;
      keys.values[keys.count] = head.value_rows[j];
      keys.places[keys.count++] = j - key;
    }
    // 2. Their contribution to each block.
    const bool values_are_small = values_fit(largest_value, sizes.keys);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (!fits[b]) continue;
      if (!values_are_small || !queries[b].fit(longest_key, limits)) {
        fits[b] = false;
        *Partial<T>::at(partials + b * stride, 0, sizes).total = out_of_range<T>;
        continue;
      }
      for (std::size_t i = 0; i < blocks[b]->queries; ++i) {
        Partial<T> own = Partial<T>::at(partials + b * stride, i, sizes);
        add_keys(*blocks[b], head, i, keys, own, largest[b][i]);
      }
    }
  }
}

template <class T>
bool attend(std::span<const QueryBlock<T>* const> blocks, const PackedHead<T>& head,
            std::size_t first, std::size_t count, T* partials, std::size_t stride) {
  bool any_not_finite = false;
  for (std::size_t b = 0; b < blocks.size(); b += blocks_together) {
    attend_together(blocks.subspan(b, std::min(blocks_together, blocks.size() - b)), head, first,
                    count, partials + b * stride, stride, any_not_finite);
  }
  return any_not_finite;
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
    // 1. The factor of each part: 2 to the difference of its shift from the largest.
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
    // 2. The sum of the parts in double precision, some columns at a time.
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
    if (head.non_finite_count > 0) add_non_finite_values(block, head, i, shift, total, to);
  }
  return outcome;
}

}  // namespace

bool attend_float_keys(std::span<const QueryBlock<float>* const> blocks,
                       const PackedHead<float>& head, std::size_t first, std::size_t count,
                       float* partials, std::size_t stride) {
  return attend(blocks, head, first, count, partials, stride);
}
bool attend_double_keys(std::span<const QueryBlock<double>* const> blocks,
                        const PackedHead<double>& head, std::size_t first, std::size_t count,
                        double* partials, std::size_t stride) {
  return attend(blocks, head, first, count, partials, stride);
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

ATTN_FOR_TARGETS(attend_float_keys);
ATTN_FOR_TARGETS(attend_double_keys);
ATTN_FOR_TARGETS(merge_floats);
ATTN_FOR_TARGETS(merge_doubles);

bool attend_keys(std::span<const QueryBlock<float>* const> blocks, const PackedHead<float>& head,
                 std::size_t first, std::size_t count, float* partials,
                 std::size_t stride) noexcept {
  return ATTN_OF_TARGET(attend_float_keys)(blocks, head, first, count, partials, stride);
}
bool attend_keys(std::span<const QueryBlock<double>* const> blocks, const PackedHead<double>& head,
                 std::size_t first, std::size_t count, double* partials,
                 std::size_t stride) noexcept {
  return ATTN_OF_TARGET(attend_double_keys)(blocks, head, first, count, partials, stride);
}

BlockOutcome merge_partials(const QueryBlock<float>& block, const PackedHead<float>& head,
                            float* partials, std::size_t parts) noexcept {
  return ATTN_OF_TARGET(merge_floats)(block, head, partials, parts);
}
BlockOutcome merge_partials(const QueryBlock<double>& block, const PackedHead<double>& head,
                            double* partials, std::size_t parts) noexcept {
  return ATTN_OF_TARGET(merge_doubles)(block, head, partials, parts);
}

}  // namespace attn::kernels
#endif
