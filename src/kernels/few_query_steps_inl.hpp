// Steps of a few queries over keys: each turns scores into powers and adds the values that these
// weigh to the partial results. Compiled once for each CPU target.

#if defined(ATTN_KERNELS_FEW_QUERY_STEPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_FEW_QUERY_STEPS_INL
#undef ATTN_KERNELS_FEW_QUERY_STEPS_INL
#else
#define ATTN_KERNELS_FEW_QUERY_STEPS_INL
#endif

#include <algorithm>
#include <array>
#include <cstddef>

#include <hwy/highway.h>

#include "kernels/attention_kernels.hpp"
#include "kernels/attention_rows_inl.hpp"
#include "kernels/few_query_products_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

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
    const T* keys_of_tile[tile];
    for (std::size_t r = 0; r < tile; ++r) {
      const std::size_t at = std::min(j + r, count - 1);
      keys_of_tile[r] = keys.key_rows[at];
      if constexpr (measures) {
        const hn::ScalableTag<T> d;
        squares.see(squares_in_lanes(d, keys.key_rows[at], sizes.width));
      }
    }
    multiply_lanes<tile>(packed, keys_of_tile, sizes.width, products + j * queries, values_ahead);
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

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
