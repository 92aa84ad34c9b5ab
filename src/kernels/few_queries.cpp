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
#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

// The partial result of one query over some keys.
template <class T>
struct Partial {
  T *sums, *shift, *total;

  static Partial at(T* partial, std::size_t query, const HeadSizes& sizes) {
    T* row = partial + query * (sizes.value_width + 2);
    return {row, row + sizes.value_width, row + sizes.value_width + 1};
  }
};

// Up to `keys_at_a_time` keys of a head.
template <class T>
struct KeyStep {
  Range range{};
  const T *const *key_rows = nullptr, *const *value_rows = nullptr;  // from the first of the range
  // Extents of all keys, once they have been read.
  T longest_key = 0, largest_value = 0;
  bool all_finite = true;  ///< the values
  // The keys whose values are finite, unless all are: their values, and their places in the range.
  std::array<const T*, keys_at_a_time> values;
  std::array<std::size_t, keys_at_a_time> places;
  std::size_t count = 0;

  std::size_t present() const { return range.end - range.first; }

  // The bound of all lengths at once where `fit` allows it, and otherwise that of the longest key.
  template <class Fit>
  void measure_keys(std::size_t width, const Fit& fit) {
    LargestSquares<T> squares;
    for (std::size_t j = 0; j < present(); ++j) {
      squares.see(squares_in_lanes(hn::ScalableTag<T>(), key_rows[j], width));
    }
    longest_key = squares.length(width);
    if (fit(longest_key)) return;
    longest_key = 0;
    for (std::size_t j = 0; j < present(); ++j) {
      longest_key = std::max(longest_key, length_of(key_rows[j], width));
    }
  }

  void measure_values(std::size_t width) {
    const Extent<T> all = extent_of(value_rows, present(), width);
    largest_value = all.largest;
    all_finite = all.finite;
    for (std::size_t j = 0; !all_finite && j < present(); ++j) {
      const Extent<T> extent = extent_of(value_rows[j], width);
      largest_value = std::max(largest_value, extent.largest);
      if (!extent.finite) continue;
      values[count] = value_rows[j];
      places[count++] = j;
    }
  }
};

// A query of a block, its partial result and its largest score so far. Those of queries side by
// side stand side by side, but for the sums.
template <class T>
struct QueryRow {
  const QueryBlock<T>* block = nullptr;
  std::size_t query = 0;
  Partial<T> partial{};
  T* largest = nullptr;

  const T* numbers() const { return block->query + query * block->query_stride; }
  // The keys of a step that the query may see, from the first of the step.
  Range own(const Range& range) const {
    return Range{block->mask.first[query], block->mask.end[query]}.within(range.first,
                                                                          range.end - range.first);
  }
  bool sees_all(const Range& range) const {
    return block->mask.first[query] <= range.first && range.end <= block->mask.end[query];
  }
  // Whether a score is the scaled product, nothing else.
  bool plain() const {
    const BlockMask<T>& mask = block->mask;
    return mask.added == nullptr && mask.rewritten == nullptr && mask.terms == nullptr &&
           !(block->softcap > 0);
  }

  // Fits the partial result to a largest score that grew.
  void raise() const {
    const T now = Shift<T>::of(*largest).value;
    if (now == *partial.shift || *largest == -infinite<T>) return;
    if (*partial.total != 0) {
      const T factor = std::exp2(*partial.shift - now);
      for (std::size_t k = 0; k < block->sizes.value_width; ++k) partial.sums[k] *= factor;
      *partial.total *= factor;
    }
    *partial.shift = now;
  }
};

// Turns the products of a query with the keys `own` of a step into powers, and adds these to its
// total. `scores` has a whole step, `room` too.
template <class T>
void add_powers(const QueryRow<T>& row, const Range& keys, const Range& own, T* scores, T* room) {
  if (own.empty()) {
    std::fill_n(scores, keys_at_a_time, T(0));
    return;
  }
  const QueryBlock<T>& block = *row.block;
  HWY_ALIGN std::array<T, lanes_of<T>> total{};
  const hn::ScalableTag<T> d;
  const auto factor = hn::Set(d, static_cast<T>(block.scale * log2_e));
  const auto nan = hn::Set(d, std::numeric_limits<T>::quiet_NaN());
  // Whole vectors: scores beyond the range are overwritten later.
  for (std::size_t j = own.first / lanes_of<T> * lanes_of<T>; j < own.end; j += lanes_of<T>) {
    const auto score = hn::Mul(hn::LoadU(d, scores + j), factor);
    hn::StoreU(hn::IfThenElse(hn::Eq(score, score), score, nan), d, scores + j);
  }
  const Range whole{0, rounded_up(keys.end - keys.first, lanes_of<T>)};
  rewrite_scores(block.mask, row.query, 1, keys.first, own, scores, 0);
  mask_scores(block.mask, static_cast<T>(block.softcap * log2_e), row.query, keys.first, own, whole,
              scores, room);
  if (exceeded(scores, whole, *row.largest)) row.raise();
  const Shift<T> shift = Shift<T>::of(*row.largest == -infinite<T> ? T(0) : *row.largest);
  if (shift.outside()) subtract(scores, whole, shift.value);
  exponentials<true>(scores, whole, shift, total.data());
  *row.partial.total += hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, total.data())));
}

// add_powers() for rows side by side that see all keys of a step, whose scores nothing changes:
// products[key][rows_in_lanes] become powers. Returns false, with nothing changed, if a score is
// too large for that.
template <class T>
bool add_powers_in_lanes(const QueryRow<T>* rows, std::size_t keys, T* products) {
  constexpr std::size_t size = lanes_of<T>, group = rows_in_lanes<T>, vectors = group / size;
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const V nan = hn::Set(d, std::numeric_limits<T>::quiet_NaN());
  const V unit = hn::Set(d, rounding<T>), hidden = hn::Set(d, -infinite<T>);
  HWY_ALIGN T factors[group];
  for (std::size_t i = 0; i < group; ++i) {
    factors[i] = static_cast<T>(rows[i].block->scale * log2_e);
  }
  const auto score = [&](std::size_t key, std::size_t v) HWY_ATTR {
    const V x = hn::Mul(hn::LoadU(d, products + key * group + v), hn::Load(d, factors + v));
    return hn::IfThenElse(hn::Eq(x, x), x, nan);
  };
  V largest[vectors];
  for (std::size_t i = 0; i < vectors; ++i) {
    V a = hn::LoadU(d, rows[i * size].largest), b = a;
    for (std::size_t j = 0; j + 2 <= keys; j += 2) {
      a = larger(d, score(j, i * size), a);
      b = larger(d, score(j + 1, i * size), b);
    }
    if (keys % 2 != 0) a = larger(d, score(keys - 1, i * size), a);
    a = hn::Max(a, b);
    const V shift = hn::IfThenElse(hn::Eq(a, hidden), hn::Zero(d), a);
    if (!hn::AllTrue(d, hn::Lt(hn::Abs(shift), hn::Set(d, most_shift<T>)))) return false;
    largest[i] = a;
  }
  for (std::size_t i = 0; i < vectors; ++i) {
    const V before = hn::LoadU(d, rows[i * size].largest), a = largest[i];
    if (!hn::AllFalse(d, hn::Gt(a, before))) {
      hn::StoreU(a, d, rows[i * size].largest);
      for (std::size_t r = 0; r < size; ++r) rows[i * size + r].raise();
    }
    const V shift = hn::IfThenElse(hn::Eq(a, hidden), hn::Zero(d), a);
    const V turned = hn::Add(hn::Sub(unit, shift), hn::Set(d, Shift<T>::lift));
    const V least = hn::Sub(hn::Sub(unit, turned), hn::Set(d, least_lifted<T>));
    V even = hn::Zero(d), odd = even;
    const auto add = [&](std::size_t key, V& to) HWY_ATTR {
      const V power = power_of_two<true>(d, score(key, i * size), turned, least);
      hn::StoreU(power, d, products + key * group + i * size);
      to = hn::Add(to, power);
    };
    for (std::size_t j = 0; j + 2 <= keys; j += 2) {
      add(j, even);
      add(j + 1, odd);
    }
    if (keys % 2 != 0) add(keys - 1, even);
    T* const total = rows[i * size].partial.total;
    hn::StoreU(hn::Add(hn::LoadU(d, total), hn::Add(even, odd)), d, total);
  }
  return true;
}

// Wider values are measured before they are added, and so is what more queries read.
constexpr std::size_t most_measured_width = 256, most_measuring_rows = 4;

// Values that are read from memory as they lie there; then their columns are summed in strips.
constexpr std::size_t read_together = 16;

// Adds the values of a step, each times its power, and measures them on the way. Sums of values
// that are not finite are dropped.
template <std::size_t queries, class T>
void add_and_measure_values(const T* const* powers, KeyStep<T>& keys, std::size_t width,
                            T* const* sums) {
  const hn::ScalableTag<T> d;
  HWY_ALIGN T own[queries][most_measured_width];
  T* to[queries];
  for (std::size_t i = 0; i < queries; ++i) {
    to[i] = own[i];
    std::fill_n(own[i], width, T(0));
  }
  Magnitude<T> magnitude;
  NothingAhead nothing;
  for (std::size_t j = 0; j < keys.present(); j += read_together) {
    const T* factors[queries];
    for (std::size_t i = 0; i < queries; ++i) factors[i] = powers[i] + j;
    add_rows<queries>(factors, keys.value_rows + j, std::min(read_together, keys.present() - j),
                      Range{0, width}, to, magnitude, nothing);
  }
  keys.largest_value = magnitude.largest();
  if (keys.largest_value == infinite<T>) {
    keys.measure_values(width);
    return;
  }
  for (std::size_t i = 0; i < queries; ++i) {
    std::size_t k = 0;
    for (; k + lanes_of<T> <= width; k += lanes_of<T>) {
      hn::StoreU(hn::Add(hn::LoadU(d, sums[i] + k), hn::LoadU(d, own[i] + k)), d, sums[i] + k);
    }
    for (; k < width; ++k) sums[i][k] += own[i][k];
  }
}

// The values of a step that are finite, one after the other.
template <class T>
struct FiniteValues {
  const T* const* rows;
  std::size_t count;
  const std::size_t* places;  ///< null if all are

  explicit FiniteValues(const KeyStep<T>& keys)
      : rows(keys.all_finite ? keys.value_rows : keys.values.data()),
        count(keys.all_finite ? keys.present() : keys.count),
        places(keys.all_finite ? nullptr : keys.places.data()) {}

  // Moves their powers together.
  void gather(T* const* powers, std::size_t queries) const {
    for (std::size_t i = 0; places != nullptr && i < queries; ++i) {
      for (std::size_t j = 0; j < count; ++j) powers[i][j] = powers[i][places[j]];
    }
  }
  void gather_in_lanes(T* powers) const {
    constexpr std::size_t group = rows_in_lanes<T>;
    for (std::size_t j = 0; places != nullptr && j < count; ++j) {
      std::copy_n(powers + places[j] * group, group, powers + j * group);
    }
  }
};

// Adds the keys of a step to some queries. With `measures`, which takes queries that see all keys,
// these are measured on the way; returns false, without a change, if `fit` denies their lengths.
template <std::size_t queries, bool measures, class T, class Fit>
bool add_keys(const QueryRow<T>* rows, KeyStep<T>& keys, const Fit& fit) {
  HWY_ALIGN T scores[queries][keys_at_a_time], room[keys_at_a_time];
  // 1. Products with the keys that any of the queries sees.
  const T* q[queries];
  T* products[queries];
  Range own[queries], any{keys_at_a_time, 0};
  for (std::size_t i = 0; i < queries; ++i) {
    q[i] = rows[i].numbers();
    products[i] = scores[i];
    own[i] = rows[i].own(keys.range);
    if (own[i].empty()) continue;
    any = {std::min(any.first, own[i].first), std::max(any.end, own[i].end)};
  }
  if (any.empty()) return true;
  const HeadSizes& sizes = rows[0].block->sizes;
  if constexpr (measures) {
    LargestSquares<T> squares;
    multiply_keys<queries>(q, keys.key_rows, any, sizes.width, products, squares);
    keys.longest_key = squares.length(sizes.width);
    if (!fit(keys.longest_key)) return false;
  } else {
    Unmeasured none;
    multiply_keys<queries>(q, keys.key_rows, any, sizes.width, products, none);
  }
  // 2. Their powers.
  T* sums[queries];
  for (std::size_t i = 0; i < queries; ++i) {
    sums[i] = rows[i].partial.sums;
    add_powers(rows[i], keys.range, own[i], scores[i], room);
  }
  // 3. The values, those that are finite one after the other.
  if constexpr (measures) {
    add_and_measure_values<queries>(products, keys, sizes.value_width, sums);
    if (keys.all_finite) return true;
  }
  const FiniteValues<T> values(keys);
  values.gather(products, queries);
  Unmeasured none;
  NothingAhead nothing;
  add_rows<queries>(products, values.rows, values.count, Range{0, sizes.value_width}, sums, none,
                    nothing);
  return true;
}

// Adds values of a step to rows side by side: power j of row i is at powers[i · next + j · apart].
// Each strip of their columns is read once for all rows.
template <std::size_t apart, class T>
void add_values_in_lanes(const QueryRow<T>* rows, const T* powers, std::size_t next,
                         const FiniteValues<T>& values, RowsAhead<T>& ahead) {
  Unmeasured none;
  const std::size_t width = rows->block->sizes.value_width;
  for (std::size_t column = 0; column < width; column += strip_columns<T>) {
    const Range strip{column, std::min(column + strip_columns<T>, width)};
    for (std::size_t i = 0; i < rows_in_lanes<T>; i += queries_together) {
      const T* factors[queries_together];
      T* sums[queries_together];
      for (std::size_t r = 0; r < queries_together; ++r) {
        factors[r] = powers + (i + r) * next;
        sums[r] = rows[i + r].partial.sums;
      }
      add_rows<queries_together, apart>(factors, values.rows, values.count, strip, sums, none,
                                        ahead);
    }
  }
}

// add_keys() for queries that lie side by side in `packed`; values are measured neither before nor
// on the way. Prefetches the `next` keys after the step.
template <bool measures, class T, class Fit>
bool add_keys_in_lanes(const QueryRow<T>* rows, const T* packed, KeyStep<T>& keys, std::size_t next,
                       const Fit& fit) {
  constexpr std::size_t queries = rows_in_lanes<T>, tile = keys_in_lanes;
  if constexpr (!measures) {
    const auto sees_none = [&](const QueryRow<T>& one) { return one.own(keys.range).empty(); };
    if (std::all_of(rows, rows + queries, sees_none)) return true;
  }
  HWY_ALIGN T products[(keys_at_a_time + tile) * queries];
  HWY_ALIGN T scores[queries * keys_at_a_time];
  const HeadSizes& sizes = rows[0].block->sizes;
  const std::size_t count = keys.present();
  // 1. Products.
  LargestSquares<T> squares;
  // Values are fetched during the products with keys, and the next keys during those with values:
  // fetched farther ahead they would be driven out of the first-level cache again.
  RowsAhead<T> values_ahead(keys.value_rows, count, sizes.value_width,
                            count / tile * steps_in_lanes<T>(sizes.width));
  for (std::size_t j = 0; j < count; j += tile) {
    const T* tile_rows[tile];
    for (std::size_t r = 0; r < tile; ++r) {
      const std::size_t at = std::min(j + r, count - 1);
      tile_rows[r] = keys.key_rows[at];
      if constexpr (measures) {
        const hn::ScalableTag<T> d;
        squares.see(squares_in_lanes(d, keys.key_rows[at], sizes.width));
      }
    }
    multiply_lanes<tile>(packed, tile_rows, sizes.width, products + j * queries, values_ahead);
  }
  if constexpr (measures) {
    keys.longest_key = squares.length(sizes.width);
    if (!fit(keys.longest_key)) return false;
  }
  // 2. Their powers, where nothing hinders side by side as the products are, else one query after
  // the other.
  RowsAhead<T> keys_ahead(keys.key_rows + count, next, sizes.width,
                          count * (queries / queries_together) * strips<T>(sizes.value_width));
  const FiniteValues<T> values(keys);
  const auto as_they_are = [&](const QueryRow<T>& one) {
    return one.plain() && one.sees_all(keys.range);
  };
  if (std::all_of(rows, rows + queries, as_they_are) &&
      add_powers_in_lanes(rows, count, products)) {
    values.gather_in_lanes(products);
    add_values_in_lanes<queries>(rows, products, 1, values, keys_ahead);
    return true;
  }
  const T* places[keys_at_a_time];
  for (std::size_t j = 0; j < count; ++j) places[j] = products + j * queries;
  pack_columns<keys_at_a_time>(places, count, queries, T(1), scores);
  T* powers[queries];
  for (std::size_t i = 0; i < queries; ++i) {
    powers[i] = scores + i * keys_at_a_time;
    add_powers(rows[i], keys.range, rows[i].own(keys.range), powers[i], products);
  }
  values.gather(powers, queries);
  add_values_in_lanes<1>(rows, scores, keys_at_a_time, values, keys_ahead);
  return true;
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
