#include "kernels/fused_attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fused_attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/tile_inl.hpp"
#include "kernels/vector_math_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::size_t most_rows = rounded_up(query_block, tile_rows);
constexpr std::size_t most_block_keys = 384;
constexpr std::size_t depth_block = 256;
static_assert(most_block_keys % tile_columns == 0);

// Keys and values of a block together should leave room for the rest in the second-level cache.
std::size_t block_keys(const HeadSizes& sizes) {
  constexpr std::size_t floats = std::size_t{1} << 17U;
  const std::size_t fitting = floats / (sizes.width + sizes.value_width) / 64 * 64;
  return std::clamp<std::size_t>(fitting, 64, most_block_keys);
}

std::size_t packed_key_floats(const HeadSizes& sizes) {
  return rounded_up(rounded_up(sizes.keys, tile_columns) * sizes.width, 16);
}

std::size_t packed_value_floats(const HeadSizes& sizes) {
  return rounded_up(sizes.keys * rounded_up(sizes.value_width, tile_columns), 16);
}

// x·0 is 0 for every finite x.
bool all_finite(const float* row, std::size_t width) {
  const Tag d;
  Vector product = hn::Zero(d);
  std::size_t k = 0;
  for (; k + lanes <= width; k += lanes) {
    product = hn::MulAdd(hn::LoadU(d, row + k), hn::Zero(d), product);
  }
  float rest = hn::GetLane(hn::SumOfLanes(d, product));
  for (; k < width; ++k) rest += row[k] * 0.0F;
  return rest == 0.0F;
}

// [keys, value_width] as panels [keys][tile_columns] of columns.
void pack_values(const HeadSizes& sizes, const float* const* rows, PackedHead& head) {
  const std::size_t width = sizes.value_width;
  head.odd_count = 0;
  for (std::size_t key = 0; key < sizes.keys; ++key) {
    const bool finite = all_finite(rows[key], width);
    if (!finite) head.odd_keys[head.odd_count++] = static_cast<std::uint32_t>(key);
    for (std::size_t column = 0; column < width; column += tile_columns) {
      float* to = head.values + column * sizes.keys + key * tile_columns;
      const std::size_t count = finite ? std::min(tile_columns, width - column) : 0;
      if (count == tile_columns) {
        const Tag d;
        hn::StoreU(hn::LoadU(d, rows[key] + column), d, to);
        hn::StoreU(hn::LoadU(d, rows[key] + column + lanes), d, to + lanes);
      } else {
        std::copy_n(rows[key] + column, count, to);
        std::fill(to + count, to + tile_columns, 0.0F);
      }
    }
  }
}

void pack_head(const HeadSizes& sizes, const float* const* key_rows, const float* const* value_rows,
               PackedHead& head) {
  pack_columns<tile_columns>(key_rows, sizes.keys, sizes.width, 1.0F, head.keys);
  head.odd_count = 0;
  if (value_rows != nullptr) pack_values(sizes, value_rows, head);
}

// Keys [first, end) of a block.
struct Range {
  std::size_t first, end;
  bool empty() const { return first >= end; }
};

// The rows of a strip against keys [base, base + …): what each row sees, counted from `base`, and
// what any of them sees.
struct StripRanges {
  std::array<Range, tile_rows> rows;
  Range all;
};

StripRanges ranges_of(const BlockMask& mask, std::size_t row, std::size_t rows, std::size_t base,
                      std::size_t keys) {
  StripRanges result;
  result.all = {keys, 0};
  for (std::size_t r = 0; r < tile_rows; ++r) {
    Range range{0, 0};
    if (r < rows) {
      const std::size_t first = mask.first[row + r], end = mask.end[row + r];
      range.first = std::clamp(first, base, base + keys) - base;
      range.end = std::clamp(end, base, base + keys) - base;
      if (range.empty()) range = {0, 0};
    }
    if (!range.empty()) {
      result.all.first = std::min(result.all.first, range.first);
      result.all.end = std::max(result.all.end, range.end);
    }
    result.rows[r] = range;
  }
  return result;
}

// What does not change while a block of queries is computed.
class Block {
 public:
  Block(const AttentionBlock& block, float* scratch)
      : block_(block),
        width_(block.sizes.width),
        output_width_(rounded_up(block.sizes.value_width, tile_columns)),
        queries_(scratch),
        sums_(queries_ + rounded_up(most_rows * width_, 16)),
        scores_(sums_ + rounded_up(most_rows * output_width_, 16)),
        added_(scores_ + rounded_up(most_rows * most_block_keys, 16)) {
    std::array<const float*, query_block> rows{};
    for (std::size_t i = 0; i < block.queries; ++i) rows[i] = block.query + i * block.query_stride;
    pack_columns<tile_rows>(rows.data(), block.queries, width_, block.scale, queries_);
    std::fill_n(sums_, most_rows * output_width_, 0.0F);
    largest_.fill(-infinity);
    total_.fill(0.0F);
  }

  static std::size_t scratch_floats(const HeadSizes& sizes) {
    return rounded_up(most_rows * sizes.width, 16) +
           rounded_up(most_rows * rounded_up(sizes.value_width, tile_columns), 16) +
           rounded_up(most_rows * most_block_keys, 16) + most_block_keys;
  }

  BlockOutcome without_weights() {
    const std::size_t step = block_keys(block_.sizes);
    std::size_t first = block_.sizes.keys, end = 0;
    for (std::size_t i = 0; i < block_.queries; ++i) {
      if (block_.mask.first[i] >= block_.mask.end[i]) continue;
      first = std::min<std::size_t>(first, block_.mask.first[i]);
      end = std::max<std::size_t>(end, block_.mask.end[i]);
    }
    for (std::size_t base = first / step * step; base < end; base += step) {
      const std::size_t keys = std::min(step, block_.sizes.keys - base);
      for (std::size_t row = 0; row < block_.queries; row += tile_rows) {
        add_keys(row, base, keys);
      }
    }
    return finish();
  }

  BlockOutcome with_weights() {
    const std::size_t keys = block_.sizes.keys;
    BlockOutcome outcome;
    for (std::size_t row = 0; row < block_.queries; row += tile_rows) weigh(row, outcome);
    if (block_.output != nullptr) {
      for (std::size_t row = 0; row < block_.queries; row += tile_rows) add_weighted(row, keys);
      for (std::size_t i = 0; i < block_.queries; ++i) write_output(i, 1.0F, outcome);
    }
    return outcome;
  }

 private:
  std::size_t rows_from(std::size_t row) const { return std::min(tile_rows, block_.queries - row); }

  // Scores of a strip with the panels that hold keys base + [range): c[r, key − base].
  void multiply_keys(std::size_t row, std::size_t base, const Range& range, float* c,
                     std::size_t stride) const {
    const float* left = queries_ + row * width_;
    for (std::size_t k = 0; k < width_; k += depth_block) {
      const std::size_t depth = std::min(depth_block, width_ - k);
      for (std::size_t column = range.first / tile_columns * tile_columns; column < range.end;
           column += tile_columns) {
        const float* panel = block_.head->keys + (base + column) * width_ + k * tile_columns;
        multiply_tile<true>(left + k * tile_rows, 0, panel, depth, c + column, stride, k > 0);
      }
    }
  }

  // Softcap, bias and mask of one row's scores within the range; −∞ from there to `whole`.
  void mask_scores(std::size_t query, std::size_t base, const Range& range, const Range& whole,
                   float* scores) {
    const Tag d;
    if (block_.softcap > 0 && !range.empty()) {
      const Vector cap = hn::Set(d, block_.softcap);
      // Whole vectors: what lies beyond the range is overwritten below.
      for (std::size_t j = range.first / lanes * lanes; j < range.end; j += lanes) {
        const Vector x = hn::Div(hn::LoadU(d, scores + j), cap);
        hn::StoreU(hn::Mul(cap, hyperbolic_tangent(d, x)), d, scores + j);
      }
    }
    if (block_.mask.added != nullptr && !range.empty()) {
      float* added = added_;
      block_.mask.added(block_.mask.context, query, base + range.first, range.end - range.first,
                        added);
      for (std::size_t j = range.first; j < range.end; ++j) {
        const float term = added[j - range.first];
        scores[j] = term == -infinity ? -infinity : scores[j] + term;
      }
    }
    if (range.empty()) {
      std::fill(scores + whole.first, scores + whole.end, -infinity);
    } else {
      std::fill(scores + whole.first, scores + range.first, -infinity);
      std::fill(scores + range.end, scores + whole.end, -infinity);
    }
  }

  static float largest_of(const float* scores, const Range& range) {
    const Tag d;
    // The second operand is what remains if the first is NaN: NaN enters through the sum alone.
    Vector a = hn::Set(d, -infinity), b = a;
    std::size_t j = range.first;
    for (; j + 2 * lanes <= range.end; j += 2 * lanes) {
      const Vector x = hn::LoadU(d, scores + j), y = hn::LoadU(d, scores + j + lanes);
      a = hn::IfThenElse(hn::Gt(x, a), x, a);
      b = hn::IfThenElse(hn::Gt(y, b), y, b);
    }
    for (; j < range.end; j += lanes) {
      const Vector x = hn::LoadU(d, scores + j);
      a = hn::IfThenElse(hn::Gt(x, a), x, a);
    }
    return hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
  }

  // e^(score − largest) in place; returns their sum.
  static float exponentials(float* scores, const Range& range, float largest) {
    const Tag d;
    const Vector shift = hn::Set(d, largest == -infinity ? 0.0F : largest);
    Vector a = hn::Zero(d), b = a;
    std::size_t j = range.first;
    for (; j + 2 * lanes <= range.end; j += 2 * lanes) {
      const Vector x = exponential(d, hn::Sub(hn::LoadU(d, scores + j), shift));
      const Vector y = exponential(d, hn::Sub(hn::LoadU(d, scores + j + lanes), shift));
      hn::StoreU(x, d, scores + j);
      hn::StoreU(y, d, scores + j + lanes);
      a = hn::Add(a, x);
      b = hn::Add(b, y);
    }
    for (; j < range.end; j += lanes) {
      const Vector x = exponential(d, hn::Sub(hn::LoadU(d, scores + j), shift));
      hn::StoreU(x, d, scores + j);
      a = hn::Add(a, x);
    }
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
  }

  static void multiply(float* row, std::size_t count, float factor) {
    for (std::size_t i = 0; i < count; ++i) row[i] *= factor;
  }

  // One block of keys for one strip of rows.
  void add_keys(std::size_t row, std::size_t base, std::size_t keys) {
    const std::size_t rows = rows_from(row);
    const StripRanges ranges = ranges_of(block_.mask, row, rows, base, keys);
    if (ranges.all.empty()) return;
    float* scores = scores_;
    multiply_keys(row, base, ranges.all, scores, most_block_keys);
    const Range whole{ranges.all.first / lanes * lanes, rounded_up(ranges.all.end, lanes)};
    for (std::size_t r = 0; r < rows; ++r) {
      float* line = scores + r * most_block_keys;
      mask_scores(row + r, base, ranges.rows[r], whole, line);
      const float before = largest_[row + r];
      const float now = largest_of(line, whole);
      if (now > before) {
        // An infinite value stays infinite, however small its weight becomes.
        const float least = block_.head->odd_count > 0 ? std::numeric_limits<float>::min() : 0.0F;
        const float factor = before == -infinity ? 0.0F : std::max(least, std::exp(before - now));
        if (block_.output != nullptr && before != -infinity) {
          multiply(sums_ + (row + r) * output_width_, output_width_, factor);
        }
        total_[row + r] *= factor;
        largest_[row + r] = now;
      }
      if (block_.head->odd_count > 0) add_odd_keys(row + r, base, whole, line);
      total_[row + r] += exponentials(line, whole, largest_[row + r]);
    }
    for (std::size_t column = 0; column < output_width_; column += tile_columns) {
      const float* panel = block_.head->values + column * block_.sizes.keys +
                           (base + ranges.all.first) * tile_columns;
      multiply_tile<false>(scores + ranges.all.first, most_block_keys, panel,
                           ranges.all.end - ranges.all.first, sums_ + row * output_width_ + column,
                           output_width_, true);
    }
  }

  // Values that are not finite, for the queries that see them; the scores are masked already.
  void add_odd_keys(std::size_t query, std::size_t base, const Range& range, const float* scores) {
    const PackedHead& head = *block_.head;
    const std::uint32_t* const last = head.odd_keys + head.odd_count;
    const std::uint32_t* key = std::lower_bound<const std::uint32_t*>(
        head.odd_keys, last, static_cast<std::uint32_t>(base + range.first));
    for (; key != last && *key < base + range.end; ++key) {
      const float score = scores[*key - base];
      if (score == -infinity) continue;
      // However small the weight, it does not turn infinity into NaN.
      const float weight =
          std::max(std::numeric_limits<float>::min(), std::exp(score - largest_[query]));
      add_row(query, *key, std::isnan(score) ? score : weight);
    }
  }

  void add_row(std::size_t query, std::size_t key, float weight) {
    float* to = sums_ + query * output_width_;
    const float* from = block_.value_rows[key];
    for (std::size_t k = 0; k < block_.sizes.value_width; ++k) to[k] += weight * from[k];
  }

  void write_output(std::size_t i, float factor, BlockOutcome& outcome) {
    const float* from = sums_ + i * output_width_;
    float* to = block_.output + i * block_.output_stride;
    for (std::size_t k = 0; k < block_.sizes.value_width; ++k) to[k] = from[k] * factor;
    if (!all_finite(to, block_.sizes.value_width)) outcome.overflow = true;
  }

  BlockOutcome finish() {
    BlockOutcome outcome;
    for (std::size_t i = 0; i < block_.queries; ++i) {
      const float total = total_[i];
      if (total == 0.0F) ++outcome.empty_rows;
      if (!std::isfinite(total)) outcome.overflow = true;
      write_output(i, total == 0.0F ? 0.0F : 1.0F / total, outcome);
    }
    return outcome;
  }

  // The weights of a strip's rows, computed where they are wanted.
  void weigh(std::size_t row, BlockOutcome& outcome) {
    const std::size_t keys = block_.sizes.keys, rows = rows_from(row);
    const StripRanges ranges = ranges_of(block_.mask, row, rows, 0, keys);
    float* weights = block_.weights + row * keys;
    for (std::size_t base = 0; base < keys; base += most_block_keys) {
      const std::size_t count = std::min(most_block_keys, keys - base);
      const Range wanted{std::clamp(ranges.all.first, base, base + count) - base,
                         std::clamp(ranges.all.end, base, base + count) - base};
      if (!wanted.empty()) multiply_keys(row, base, wanted, scores_, most_block_keys);
      for (std::size_t r = 0; r < rows; ++r) {
        float* line = scores_ + r * most_block_keys;
        const Range own{std::clamp(ranges.rows[r].first, base, base + count) - base,
                        std::clamp(ranges.rows[r].end, base, base + count) - base};
        mask_scores(row + r, base, own, {0, count}, line);
        std::copy_n(line, count, weights + r * keys + base);
      }
    }
    for (std::size_t r = 0; r < rows; ++r) soften(row + r, ranges.rows[r], outcome);
  }

  // The softmax of one row in place.
  void soften(std::size_t query, const Range& range, BlockOutcome& outcome) {
    const std::size_t keys = block_.sizes.keys;
    float* row = block_.weights + query * keys;
    // Whole vectors first, then the rest of the range in a padded one.
    const std::size_t whole = range.empty() ? 0 : (range.end - range.first) / lanes * lanes;
    const std::size_t rest = range.empty() ? 0 : range.end - range.first - whole;
    HWY_ALIGN std::array<float, lanes> tail;
    tail.fill(-infinity);
    std::copy_n(row + range.first + whole, rest, tail.begin());
    const Range body{range.first, range.first + whole};
    const float largest = std::max(largest_of(row, body), largest_of(tail.data(), {0, lanes}));
    if (block_.output != nullptr && sees_odd_key(row)) outcome.overflow = true;
    const float total =
        exponentials(row, body, largest) + exponentials(tail.data(), {0, lanes}, largest);
    if (total == 0.0F) ++outcome.empty_rows;
    if (!std::isfinite(total)) outcome.overflow = true;
    const float factor = total == 0.0F ? 0.0F : 1.0F / total;
    std::copy_n(tail.begin(), rest, row + range.first + whole);
    std::fill(row, row + range.first, 0.0F);
    std::fill(row + std::max(range.first, range.end), row + keys, 0.0F);
    if (!range.empty()) multiply(row + range.first, range.end - range.first, factor);
  }

  // Whether the query sees a key whose value is not finite.
  bool sees_odd_key(const float* scores) const {
    const PackedHead& head = *block_.head;
    return std::any_of(head.odd_keys, head.odd_keys + head.odd_count,
                       [&](std::uint32_t key) { return scores[key] != -infinity; });
  }

  void add_weighted(std::size_t row, std::size_t keys) {
    const std::size_t rows = rows_from(row);
    const StripRanges ranges = ranges_of(block_.mask, row, rows, 0, keys);
    if (ranges.all.empty()) return;
    const float* weights = block_.weights + row * keys;
    std::size_t stride = keys;
    for (std::size_t k = ranges.all.first; k < ranges.all.end; k += most_block_keys) {
      const std::size_t depth = std::min(most_block_keys, ranges.all.end - k);
      const float* left = weights + k;
      if (rows < tile_rows) {
        // The tile reads all its rows; those beyond the last are zeros.
        for (std::size_t r = 0; r < tile_rows; ++r) {
          float* copy = scores_ + r * most_block_keys;
          if (r < rows) {
            std::copy_n(weights + r * keys + k, depth, copy);
          } else {
            std::fill_n(copy, depth, 0.0F);
          }
        }
        left = scores_;
        stride = most_block_keys;
      }
      for (std::size_t column = 0; column < output_width_; column += tile_columns) {
        const float* panel = block_.head->values + column * block_.sizes.keys + k * tile_columns;
        multiply_tile<false>(left, stride, panel, depth, sums_ + row * output_width_ + column,
                             output_width_, true);
      }
    }
  }

  const AttentionBlock& block_;
  std::size_t width_, output_width_;
  float *queries_, *sums_, *scores_, *added_;
  std::array<float, most_rows> largest_, total_;
};

std::size_t attention_scratch_floats(const HeadSizes& sizes) {
  return Block::scratch_floats(sizes);
}

BlockOutcome attend_block(const AttentionBlock& block, float* scratch) {
  Block state(block, scratch);
  return block.weights == nullptr ? state.without_weights() : state.with_weights();
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

HWY_EXPORT(packed_key_floats);
HWY_EXPORT(packed_value_floats);
HWY_EXPORT(pack_head);
HWY_EXPORT(attention_scratch_floats);
HWY_EXPORT(attend_block);

std::size_t packed_key_floats(const HeadSizes& sizes) noexcept {
  return HWY_DYNAMIC_DISPATCH(packed_key_floats)(sizes);
}

std::size_t packed_value_floats(const HeadSizes& sizes) noexcept {
  return HWY_DYNAMIC_DISPATCH(packed_value_floats)(sizes);
}

void pack_head(const HeadSizes& sizes, const float* const* key_rows, const float* const* value_rows,
               PackedHead& head) noexcept {
  HWY_DYNAMIC_DISPATCH(pack_head)(sizes, key_rows, value_rows, head);
}

std::size_t attention_scratch_floats(const HeadSizes& sizes) noexcept {
  return HWY_DYNAMIC_DISPATCH(attention_scratch_floats)(sizes);
}

BlockOutcome attend_block(const AttentionBlock& block, float* scratch) noexcept {
  return HWY_DYNAMIC_DISPATCH(attend_block)(block, scratch);
}

}  // namespace attn::kernels
#endif
