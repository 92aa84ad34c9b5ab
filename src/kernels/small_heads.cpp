#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/attention_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/small_heads.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention_rows_inl.hpp"
#include "kernels/long_sums_inl.hpp"
#include "kernels/small_head_packing_inl.hpp"
#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

constexpr std::size_t key_block =
    192;  // scores of a panel with as many keys fit the first-level cache
static_assert(key_block % tile_rows == 0);
// Below sum_depth: the exponentials of a lane are summed one after the other as well.
constexpr std::size_t value_depth = 64;

// One query per lane of two vectors.
template <class T>
class Panel {
  using Tag = hn::ScalableTag<T>;
  using V = hn::Vec<Tag>;
  static constexpr std::size_t size = lanes_of<T>, columns = columns_of<T>;

 public:
  Panel(const QueryBlock<T>& block, const PackedHead<T>& head, T* scratch)
      : block_(block),
        head_(head),
        limits_(score_limits<T>(block.sizes.width)),
        softcap_(static_cast<T>(block.softcap * log2_e)),
        value_tile_(small::value_rows_of(block.sizes.value_width)),
        output_width_(rounded_up(block.sizes.value_width, value_tile_)),
        sums_(scratch, (output_width_ + 1) * columns),
        queries_(scratch + sums_.scratch_count((output_width_ + 1) * columns)),
        lanes_(queries_ + block.sizes.width * columns),
        scores_(lanes_ + states * columns),
        room_(scores_ + key_block * columns) {}

  static std::size_t scratch_count(const HeadSizes& sizes) {
    const std::size_t rows =
        rounded_up(sizes.value_width, small::value_rows_of(sizes.value_width)) + 1;
    return LongSums<T>::scratch_count(rows * columns) +
           (sizes.width + states + key_block) * columns + key_block;
  }

  void compute(std::size_t first, BlockOutcome& outcome) {
    query_ = first;
    count_ = std::min(columns, block_.queries - first);
    if (!begin()) {
      outcome.out_of_range = true;
      return;
    }
    const StripView view = view_of(block_.mask, first, count_);
    const KeySteps steps(block_.mask, view.any, key_block);
    for (std::size_t step = 0; step < steps.count(); ++step) {
      const std::size_t base = steps.base(step);
      const std::size_t keys = std::min(key_block, block_.sizes.keys - base);
      const bool full =
          block_.mask.added == nullptr && view.all.first <= base && base + keys <= view.all.end;
      add_keys(base, view.any.within(base, keys), full);
      sums_.added(keys);
    }
    finish(outcome);
  }

 private:
  // With a bound of the scores up to 30, powers lie above 2^(lift − 2 · 30), so that no value that
  // counts is lost.
  static constexpr T largest_bound = 30;

  // State per query, in its lane.
  enum State : std::size_t { largest, shift, turned, subtracted, first_key, end_key, states };
  T* state(State which) { return lanes_ + which * columns; }
  // The sums of exponentials, behind the sums [output_width,columns].
  T* totals() { return sums_.at(output_width_ * columns); }

  // Packs the queries. Returns whether all scores and sums stay in range.
  bool begin() {
    std::array<const T*, columns> rows{};
    for (std::size_t i = 0; i < count_; ++i) {
      rows[i] = block_.query + (query_ + i) * block_.query_stride;
    }
    const T longest_query = pack_rows<columns>(rows.data(), count_, block_.sizes.width,
                                               static_cast<T>(block_.scale * log2_e), queries_);
    sums_.clear();
    std::fill_n(lanes_, states * columns, T(0));
    std::fill_n(state(largest), columns, -infinite<T>);
    std::fill_n(state(turned), columns, rounding<T> + Shift<T>::lift);
    bound(longest_query);
    return limits_.hold(longest_query, head_.longest_key) &&
           values_fit(head_.largest_value, block_.sizes.keys);
  }

  // Takes the product of the longest query and the longest key, which no score exceeds (Cauchy and
  // Schwarz), as the shift of all queries if it is small enough. Largest scores are not computed
  // then.
  void bound(T longest_query) {
    const T most = longest_query * head_.longest_key;
    bounded_ = block_.mask.terms == nullptr && block_.mask.added == nullptr && head_.keys_finite &&
               most <= std::min(largest_bound, static_cast<T>(limits_.largest)) &&
               all_finite(queries_, block_.sizes.width * columns);
    if (!bounded_) return;
    const Shift<T> all = Shift<T>::of(most);
    std::fill_n(state(largest), columns, most);
    std::fill_n(state(shift), columns, all.value);
    std::fill_n(state(turned), columns, all.turned);
  }

  void add_keys(std::size_t base, const Range& seen, bool full) {
    const std::size_t width = block_.sizes.width;
    for (std::size_t key = seen.first / tile_rows * tile_rows; key < seen.end; key += tile_rows) {
      multiply_tile<false>(head_.keys + (base + key) * width, width, queries_, width,
                           scores_ + key * columns, columns, false);
    }
    if (softcap_ > 0) cap(seen);
    if (block_.mask.terms != nullptr) add_distances(base, seen);
    if (!full) mask(base, seen);
    if (!bounded_) raise(seen);
    if (bounded_ && full) {
      exponentials<false, true>(seen);
    } else if (full && every_lane_began()) {
      exponentials<false>(seen);
    } else {
      exponentials<true>(seen);
    }
    for (std::size_t column = 0; column < output_width_; column += value_tile_) {
      const T* values =
          head_.values + column * block_.sizes.keys + (base + seen.first) * value_tile_;
      const T* scores = scores_ + seen.first * columns;
      const std::size_t depth = seen.end - seen.first;
      T* sums = sums_.at(column * columns);
      switch (value_tile_) {
        case 4:
          add_products<true, 4>(values, 0, scores, depth, sums, columns, value_depth);
          break;
        case 6:
          add_products<true, 6>(values, 0, scores, depth, sums, columns, value_depth);
          break;
        case 8:
          if constexpr (tile_rows == 12) {
            add_products<true, 8>(values, 0, scores, depth, sums, columns, value_depth);
          }
          break;
        default:
          add_products<true>(values, 0, scores, depth, sums, columns, value_depth);
      }
    }
  }

  void cap(const Range& seen) {
    const Tag d;
    const V most = hn::Set(d, softcap_);
    for (T* s = scores_ + seen.first * columns; s < scores_ + seen.end * columns; s += size) {
      hn::StoreU(hn::Mul(most, hyperbolic_tangent(d, hn::Div(hn::LoadU(d, s), most))), d, s);
    }
  }

  // Adds the terms of the distances of keys base + [seen). From lane to lane the distance falls
  // by 1.
  void add_distances(std::size_t base, const Range& seen) {
    const Tag d;
    const V unit = hn::Set(d, static_cast<T>(log2_e));
    for (std::size_t side = 0; side < columns; side += size) {
      const T* const last = block_.mask.terms + static_cast<std::ptrdiff_t>(base) -
                            static_cast<std::ptrdiff_t>(query_ + side + size - 1);
      for (std::size_t key = seen.first; key < seen.end; ++key) {
        T* const s = scores_ + key * columns + side;
        const V terms = hn::Reverse(d, hn::LoadU(d, last + key));
        hn::StoreU(hn::MulAdd(terms, unit, hn::LoadU(d, s)), d, s);
      }
    }
  }

  void mask(std::size_t base, const Range& seen) {
    const Tag d;
    T *firsts = state(first_key), *ends = state(end_key);
    for (std::size_t i = 0; i < count_; ++i) {
      const std::size_t query = query_ + i;
      const Range own =
          Range{block_.mask.first[query], block_.mask.end[query]}.within(base, seen.end);
      firsts[i] = static_cast<T>(own.first);
      ends[i] = static_cast<T>(own.end);
      if (block_.mask.added == nullptr || own.empty()) continue;
      block_.mask.added(block_.mask.context, query, base + own.first, own.end - own.first, room_);
      for (std::size_t key = own.first; key < own.end; ++key) {
        T& score = scores_[key * columns + i];
        score = with_added(score, room_[key - own.first], static_cast<T>(log2_e));
      }
    }
    const V hidden = hn::Set(d, -infinite<T>);
    for (std::size_t side = 0; side < columns; side += size) {
      const V first = hn::LoadU(d, firsts + side), end = hn::LoadU(d, ends + side);
      for (std::size_t key = seen.first; key < seen.end; ++key) {
        const V at = hn::Set(d, static_cast<T>(key));
        T* s = scores_ + key * columns + side;
        const V from_first = hn::IfThenElse(hn::Ge(at, first), hn::LoadU(d, s), hidden);
        hn::StoreU(hn::IfThenElse(hn::Lt(at, end), from_first, hidden), d, s);
      }
    }
  }

  // Raises the shifts of the lanes whose largest score has grown.
  void raise(const Range& seen) {
    const Tag d;
    for (std::size_t side = 0; side < columns; side += size) {
      const V before = hn::LoadU(d, state(largest) + side);
      V now = before, other = before;
      std::size_t key = seen.first;
      for (; key + 2 <= seen.end; key += 2) {
        now = larger(d, hn::LoadU(d, scores_ + key * columns + side), now);
        other = larger(d, hn::LoadU(d, scores_ + (key + 1) * columns + side), other);
      }
      if (key < seen.end) now = larger(d, hn::LoadU(d, scores_ + key * columns + side), now);
      now = hn::Max(now, other);
      if (hn::AllFalse(d, hn::Gt(now, before))) continue;
      hn::StoreU(now, d, state(largest) + side);
      std::array<T, size> factors;
      bool grown = false;
      for (std::size_t i = 0; i < size; ++i) {
        factors[i] = raise_lane(side + i);
        grown = grown || factors[i] != 1;
      }
      for (std::size_t k = 0; grown && k <= output_width_; ++k) {
        sums_.multiply(k * columns + side, size, factors.data());
      }
    }
  }

  // Raises the shift of one lane. Returns the factor for its sums.
  T raise_lane(std::size_t i) {
    const T most = state(largest)[i];
    if (most == -infinite<T>) return T(1);
    const Shift<T> now = Shift<T>::of(most);
    const T before = state(shift)[i];
    // A total of 0: this is the first score.
    const bool begun = sums_.value(output_width_ * columns + i) != 0;
    state(shift)[i] = now.value;
    state(turned)[i] = now.turned;
    state(subtracted)[i] = now.outside() ? now.value : T(0);
    return !begun || before == now.value ? T(1) : std::exp2(before - now.value);
  }

  bool every_lane_began() {
    return std::all_of(state(largest), state(largest) + columns,
                       [](T most) { return most != -infinite<T>; });
  }

  // Subtracts the shifts of the lanes whose scores are too large for power_of_two() to shift.
  void subtract_shifts(const Range& seen) {
    const T* outside = state(subtracted);
    if (std::all_of(outside, outside + columns, [](T value) { return value == 0; })) return;
    for (std::size_t key = seen.first; key < seen.end; ++key) {
      for (std::size_t i = 0; i < columns; ++i) scores_[key * columns + i] -= outside[i];
    }
  }

  template <bool hidden, bool bounded = false>
  void exponentials(const Range& seen) {
    if (!bounded_) subtract_shifts(seen);
    const Tag d;
    const V turn0 = hn::LoadU(d, state(turned)), turn1 = hn::LoadU(d, state(turned) + size);
    const V least = hn::Set(d, least_score(T(0)));
    const V least0 = hn::Sub(least, turn0), least1 = hn::Sub(least, turn1);
    // Few keys at a time bound the rounding of their sum (see LongSums).
    V total0 = hn::Zero(d), total1 = total0;
    T* s = scores_ + seen.first * columns;
    for (std::size_t left = seen.end - seen.first; left > 0;) {
      const std::size_t keys = std::min<std::size_t>(left, 32);
      left -= keys;
      V sum0 = hn::Zero(d), sum1 = sum0;
      for (T* const end = s + keys * columns; s < end; s += columns) {
        const V x = power_of_two<hidden, bounded>(d, hn::LoadU(d, s), turn0, least0);
        const V y = power_of_two<hidden, bounded>(d, hn::LoadU(d, s + size), turn1, least1);
        hn::StoreU(x, d, s);
        hn::StoreU(y, d, s + size);
        sum0 = hn::Add(sum0, x);
        sum1 = hn::Add(sum1, y);
      }
      total0 = hn::Add(total0, sum0);
      total1 = hn::Add(total1, sum1);
    }
    T* const sums = totals();
    hn::StoreU(hn::Add(hn::LoadU(d, sums), total0), d, sums);
    hn::StoreU(hn::Add(hn::LoadU(d, sums + size), total1), d, sums + size);
  }

  void finish(BlockOutcome& outcome) {
    const Tag d;
    const std::size_t width = block_.sizes.value_width;
    std::array<double, columns> total{}, factor{};
    // A zero sum means that the row sees no key.
    for (std::size_t i = 0; i < count_; ++i) {
      total[i] = sums_.value(output_width_ * columns + i);
      if (total[i] == 0) ++outcome.empty_rows;
    }
    if (block_.sink != -infinite<double>) add_sink(total, outcome);
    for (std::size_t i = 0; i < count_; ++i) {
      factor[i] = total[i] == 0 ? 0 : 1 / total[i];
      if (!(std::abs(total[i]) < infinite<double>)) outcome.overflow = true;
    }
    for (std::size_t i = 0; i < count_ && !bounded_; ++i) {
      if (limits_.exceeded(state(largest)[i])) outcome.out_of_range = true;
    }
    T* const results = scores_;
    for (std::size_t k = 0; k < width; ++k) {
      sums_.put(k * columns, columns, factor.data(), results + k * columns);
    }
    HWY_ALIGN std::array<T, columns> finite{};
    for (std::size_t side = 0; side < columns; side += size) {
      V check = hn::Zero(d);
      for (const T* x = results + side; x < results + width * columns; x += columns) {
        check = hn::MulAdd(hn::LoadU(d, x), hn::Zero(d), check);
      }
      hn::StoreU(check, d, finite.data() + side);
    }
    put_rows(results);
    for (std::size_t i = 0; i < count_; ++i) {
      if (finite[i] != 0) outcome.overflow = true;
      if (head_.non_finite_count > 0) {
        add_non_finite_values(block_, head_, query_ + i, state(shift)[i], total[i],
                              block_.output + (query_ + i) * block_.output_stride);
      }
    }
  }

  void add_sink(std::array<double, columns>& total, BlockOutcome& outcome) {
    for (std::size_t i = 0; i < count_; ++i) {
      const T own_shift = state(shift)[i];
      if (total[i] != 0 && sink_exceeds(block_, own_shift)) outcome.out_of_range = true;
      total[i] = with_sink(total[i], block_, own_shift);
    }
  }

  // Results [value_width, columns] as rows of the output.
  void put_rows(const T* results) {
    const std::size_t width = block_.sizes.value_width, stride = block_.output_stride;
    T* const output = block_.output + query_ * stride;
    std::size_t i = 0;
    for (; i + 4 <= count_; i += 4) {
      std::size_t k = 0;
      for (; k + 4 <= width; k += 4) {
        const T* const at = results + k * columns;
        const std::array<const T*, 4> rows{at, at + columns, at + 2 * columns, at + 3 * columns};
        transpose_4x4(rows.data(), i, T(1), output + i * stride + k, stride);
      }
      for (; k < width; ++k) {
        for (std::size_t r = i; r < i + 4; ++r) output[r * stride + k] = results[k * columns + r];
      }
    }
    for (; i < count_; ++i) {
      for (std::size_t k = 0; k < width; ++k) output[i * stride + k] = results[k * columns + i];
    }
  }

  const QueryBlock<T>& block_;
  const PackedHead<T>& head_;
  ScoreLimits limits_;
  T softcap_;
  std::size_t value_tile_, output_width_;
  LongSums<T> sums_;
  T *queries_, *lanes_, *scores_, *room_;
  std::size_t query_ = 0, count_ = 0;
  bool bounded_ = false;  ///< whether all scores are within `largest`, which is then no score
};

template <class T>
BlockOutcome attend(const QueryBlock<T>& block, const PackedHead<T>& head, T* scratch) {
  BlockOutcome outcome;
  Panel<T> panel(block, head, scratch);
  for (std::size_t query = 0; query < block.queries; query += columns_of<T>) {
    panel.compute(query, outcome);
  }
  return outcome;
}

}  // namespace

std::size_t small_key_floats(const HeadSizes& sizes) {
  return small::key_count<float>(sizes);
}
std::size_t small_key_doubles(const HeadSizes& sizes) {
  return small::key_count<double>(sizes);
}
std::size_t small_value_floats(const HeadSizes& sizes) {
  return small::value_count<float>(sizes);
}
std::size_t small_value_doubles(const HeadSizes& sizes) {
  return small::value_count<double>(sizes);
}
std::size_t small_scratch_floats(const HeadSizes& sizes) {
  return Panel<float>::scratch_count(sizes);
}
std::size_t small_scratch_doubles(const HeadSizes& sizes) {
  return Panel<double>::scratch_count(sizes);
}
void pack_small_floats(const HeadSizes& sizes, const float* const* key_rows,
                       const float* const* value_rows, PackedHead<float>& head) {
  small::pack(sizes, key_rows, value_rows, head);
}
void pack_small_doubles(const HeadSizes& sizes, const double* const* key_rows,
                        const double* const* value_rows, PackedHead<double>& head) {
  small::pack(sizes, key_rows, value_rows, head);
}
BlockOutcome attend_small_floats(const QueryBlock<float>& block, const PackedHead<float>& head,
                                 float* scratch) {
  return attend(block, head, scratch);
}
BlockOutcome attend_small_doubles(const QueryBlock<double>& block, const PackedHead<double>& head,
                                  double* scratch) {
  return attend(block, head, scratch);
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(small_key_floats);
ATTN_FOR_TARGETS(small_key_doubles);
ATTN_FOR_TARGETS(small_value_floats);
ATTN_FOR_TARGETS(small_value_doubles);
ATTN_FOR_TARGETS(small_scratch_floats);
ATTN_FOR_TARGETS(small_scratch_doubles);
ATTN_FOR_TARGETS(pack_small_floats);
ATTN_FOR_TARGETS(pack_small_doubles);
ATTN_FOR_TARGETS(attend_small_floats);
ATTN_FOR_TARGETS(attend_small_doubles);

template <>
std::size_t small_key_count<float>(const HeadSizes& sizes) noexcept {
  return ATTN_OF_TARGET(small_key_floats)(sizes);
}
template <>
std::size_t small_key_count<double>(const HeadSizes& sizes) noexcept {
  return ATTN_OF_TARGET(small_key_doubles)(sizes);
}
template <>
std::size_t small_value_count<float>(const HeadSizes& sizes) noexcept {
  return ATTN_OF_TARGET(small_value_floats)(sizes);
}
template <>
std::size_t small_value_count<double>(const HeadSizes& sizes) noexcept {
  return ATTN_OF_TARGET(small_value_doubles)(sizes);
}
template <>
std::size_t small_scratch_count<float>(const HeadSizes& sizes) noexcept {
  return ATTN_OF_TARGET(small_scratch_floats)(sizes);
}
template <>
std::size_t small_scratch_count<double>(const HeadSizes& sizes) noexcept {
  return ATTN_OF_TARGET(small_scratch_doubles)(sizes);
}

void pack_small_head(const HeadSizes& sizes, const float* const* key_rows,
                     const float* const* value_rows, PackedHead<float>& head) noexcept {
  ATTN_OF_TARGET(pack_small_floats)(sizes, key_rows, value_rows, head);
}
void pack_small_head(const HeadSizes& sizes, const double* const* key_rows,
                     const double* const* value_rows, PackedHead<double>& head) noexcept {
  ATTN_OF_TARGET(pack_small_doubles)(sizes, key_rows, value_rows, head);
}

BlockOutcome attend_small_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                                float* scratch) noexcept {
  return ATTN_OF_TARGET(attend_small_floats)(block, head, scratch);
}
BlockOutcome attend_small_block(const QueryBlock<double>& block, const PackedHead<double>& head,
                                double* scratch) noexcept {
  return ATTN_OF_TARGET(attend_small_doubles)(block, head, scratch);
}

}  // namespace attn::kernels
#endif
