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
#include "kernels/few_query_products_inl.hpp"
#include "kernels/few_query_steps_inl.hpp"
#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

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

// Groups of queries side by side. Wider heads than score_depth have none: their sums over the width
// would have to be cut there, as score_limits() counts on.
template <class T>
class PackedQueries {
 public:
  PackedQueries(const QueryRow<T>* row, std::size_t count) : width_(row->block->sizes.width) {
    constexpr std::size_t group = rows_in_lanes<T>;
    if (width_ > score_depth) return;
    for (; rows_ + group <= count; rows_ += group) {
      const T* q[group];
      for (std::size_t i = 0; i < group; ++i) q[i] = row[rows_ + i].numbers();
      pack_columns<group>(q, group, width_, T(1), numbers_.data() + rows_ * width_);
    }
  }

  // Rows that are in groups, the first ones.
  std::size_t rows() const { return rows_; }
  // The group of the rows from `row` on.
  const T* group(std::size_t row) const { return numbers_.data() + row * width_; }

 private:
  std::size_t rows_ = 0, width_;
  alignas(64) std::array<T, blocks_together * few_queries * score_depth> numbers_;
};

// Leaves a mark by which merge() finds the block out of range, and with it the whole attention.
template <class T>
void mark_out_of_range(T* partial, const HeadSizes& sizes) {
  *Partial<T>::at(partial, 0, sizes).total = out_of_range<T>;
}

// With `trusts_values`, sums of queries side by side tell afterwards whether a value was not finite
// or too large, and then all is computed again.
template <class T>
void attend_together(std::span<const QueryBlock<T>* const> blocks, const KeyPart<T>& part,
                     bool trusts_values, T* partials, std::size_t stride, bool& any_not_finite) {
  const HeadSizes& sizes = blocks.front()->sizes;
  std::array<QueryLengths<T>, blocks_together> lengths;
  std::array<QueryRow<T>, blocks_together * few_queries> row;
  std::array<T, row.size()> largest, shifts{}, totals{};
  largest.fill(-infinite<T>);
  std::size_t rows = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    T* const partial = partials + b * stride;
    lengths[b] = QueryLengths<T>::of(*blocks[b]);
    std::fill_n(partial, partial_count(blocks[b]->queries, sizes), T(0));
    for (std::size_t i = 0; i < blocks[b]->queries; ++i) {
      T* const sums = Partial<T>::at(partial, i, sizes).sums;
      row[rows] = {blocks[b], i, {sums, &shifts[rows], &totals[rows]}, &largest[rows]};
      ++rows;
    }
  }
  const PackedQueries<T> packed(row.data(), rows);
  const bool in_lanes = packed.rows() > 0;
  const std::size_t together = in_lanes                  ? rows_in_lanes<T>
                               : rows < queries_together ? 1
                                                         : queries_together;
  const bool measures_on_the_way =
      in_lanes ? trusts_values
               : rows <= most_measuring_rows && sizes.value_width <= most_measured_width;
  const ScoreLimits limits = score_limits<T>(sizes.width, blocks.front()->mask.steepness);
  const auto all_fit = [&](T longest_key) {
    return std::all_of(lengths.begin(),
                       lengths.begin() + static_cast<std::ptrdiff_t>(blocks.size()),
                       [&](const QueryLengths<T>& own) { return own.fit(longest_key, limits); });
  };
  for (std::size_t key = 0; key < part.count; key += keys_at_a_time) {
    KeyStep<T> keys;
    const std::size_t end = std::min(key + keys_at_a_time, part.count);
    keys.range = {part.first + key, part.first + end};
    keys.key_rows = part.key_rows + key;
    keys.value_rows = part.value_rows + key;
    // 1. The first queries. Keys that all queries see are measured while they are read, and their
    // values too, unless these are trusted to be finite; many queries that do not lie side by side
    // are faster after a pass that measures both and brings them into the cache.
    const std::size_t next = std::min(keys_at_a_time, part.count - end);
    const auto sees_all = [&](const QueryRow<T>& one) { return one.sees_all(keys.range); };
    std::size_t i = 0;
    if (measures_on_the_way &&
        std::all_of(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(together), sees_all)) {
      const bool added =
          in_lanes ? add_keys_in_lanes<true>(row.data(), packed.group(0), keys, next, all_fit)
          : together == 1 ? add_keys<1, true>(row.data(), keys, all_fit)
                          : add_keys<queries_together, true>(row.data(), keys, all_fit);
      i = added ? together : 0;
    }
    if (i == 0) {
      keys.measure_keys(sizes.width, all_fit);
      if (!all_fit(keys.longest_key)) return mark_out_of_range(partials, sizes);
      keys.measure_values(sizes.value_width);
    }
    any_not_finite = any_not_finite || !keys.all_finite;
    if (!values_fit(keys.largest_value, sizes.keys)) return mark_out_of_range(partials, sizes);
    // 2. The others.
    for (; i < packed.rows(); i += rows_in_lanes<T>) {
      add_keys_in_lanes<false>(row.data() + i, packed.group(i), keys, i == 0 ? next : 0, all_fit);
    }
    for (; i + queries_together <= rows; i += queries_together) {
      add_keys<queries_together, false>(row.data() + i, keys, all_fit);
    }
    for (; i < rows; ++i) add_keys<1, false>(row.data() + i, keys, all_fit);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    T* const sums = row[i].partial.sums;
    if (in_lanes && trusts_values && !all_finite(sums, sizes.value_width)) {
      return attend_together(blocks, part, false, partials, stride, any_not_finite);
    }
    sums[sizes.value_width] = shifts[i];
    sums[sizes.value_width + 1] = totals[i];
  }
}

template <class T>
bool attend(std::span<const QueryBlock<T>* const> blocks, const KeyPart<T>& part, T* partials,
            std::size_t stride) {
  bool any_not_finite = false;
  for (std::size_t b = 0; b < blocks.size(); b += blocks_together) {
    attend_together(blocks.subspan(b, std::min(blocks_together, blocks.size() - b)), part, true,
                    partials + b * stride, stride, any_not_finite);
  }
  return any_not_finite;
}

template <class T>
BlockOutcome merge(const QueryBlock<T>& block, const PackedHead<T>& head, T* partials,
                   std::size_t parts) {
  const std::size_t width = block.sizes.value_width;
  const std::size_t stride = partial_count(block.queries, block.sizes);
  const ScoreLimits limits = score_limits<T>(block.sizes.width, block.mask.steepness);
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
    constexpr std::size_t columns_at_a_time = 64;
    T* const to = block.output + i * block.output_stride;
    for (std::size_t column = 0; column < width; column += columns_at_a_time) {
      const std::size_t count = std::min(columns_at_a_time, width - column);
      std::array<double, columns_at_a_time> sums{};
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

bool attend_float_keys(std::span<const QueryBlock<float>* const> blocks, const KeyPart<float>& part,
                       float* partials, std::size_t stride) {
  return attend(blocks, part, partials, stride);
}
bool attend_double_keys(std::span<const QueryBlock<double>* const> blocks,
                        const KeyPart<double>& part, double* partials, std::size_t stride) {
  return attend(blocks, part, partials, stride);
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

bool attend_keys(std::span<const QueryBlock<float>* const> blocks, const KeyPart<float>& part,
                 float* partials, std::size_t stride) noexcept {
  return ATTN_OF_TARGET(attend_float_keys)(blocks, part, partials, stride);
}
bool attend_keys(std::span<const QueryBlock<double>* const> blocks, const KeyPart<double>& part,
                 double* partials, std::size_t stride) noexcept {
  return ATTN_OF_TARGET(attend_double_keys)(blocks, part, partials, stride);
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
