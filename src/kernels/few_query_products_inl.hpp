// Products of a few queries with rows of keys and values that lie apart, and what is measured of
// these on the way. Compiled once for each CPU target.

#if defined(ATTN_KERNELS_FEW_QUERY_PRODUCTS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_FEW_QUERY_PRODUCTS_INL
#undef ATTN_KERNELS_FEW_QUERY_PRODUCTS_INL
#else
#define ATTN_KERNELS_FEW_QUERY_PRODUCTS_INL
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "kernels/attention_rows_inl.hpp"
#include "kernels/number_sizes_inl.hpp"
#include "kernels/tile_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

constexpr std::size_t keys_at_a_time = 64;  // keys that are read once for all queries

// The register tile: rows of queries, and keys or vectors of values. 32 registers hold 16 sums and
// their factors, 16 registers 8 of them. A row alone takes two registers per sum, which halves the
// chain of additions.
constexpr std::size_t queries_together = tile_rows >= 12 ? 4 : 2;
constexpr std::size_t keys_together = 4;
template <std::size_t queries>
constexpr std::size_t chains_of = queries == 1 ? 2 : 1;

// The largest magnitude of the numbers that were read on the way. As whole numbers, the bits of
// infinities and NaN are larger than those of all others.
template <class T>
class Magnitude {
 public:
  using Bits = hn::RebindToSigned<hn::ScalableTag<T>>;

  Magnitude() : bits_(hn::Zero(Bits())) {}

  template <class V>
  HWY_INLINE void see(V numbers) {
    bits_ = hn::Max(bits_, hn::BitCast(Bits(), hn::Abs(numbers)));
  }
  HWY_INLINE void see(T number) {
    const T magnitude = std::abs(number);
    other_ = std::max(other_, magnitude < infinite<T> ? magnitude : infinite<T>);
  }

  // Infinity if a number is not finite.
  T largest() const {
    const hn::ScalableTag<T> d;
    HWY_ALIGN std::array<T, lanes_of<T>> lanes;
    hn::Store(hn::BitCast(d, bits_), d, lanes.data());
    Magnitude of_lanes;
    of_lanes.see(other_);
    for (const T lane : lanes) of_lanes.see(lane);
    return of_lanes.other_;
  }

 private:
  hn::Vec<Bits> bits_;
  T other_ = 0;
};

// Stands for a Magnitude where nothing is measured.
struct Unmeasured {
  template <class V>
  HWY_INLINE void see(V) {}
};

// Fetches a line that is read soon into the second-level cache: the first level waits for fewer
// lines at a time than memory answers.
HWY_INLINE void fetch_to_second_level(const void* line) {
  __builtin_prefetch(line, 0, 2);
}

// Prefetches rows that are read soon, one cache line at a time between multiply-adds: many lines at
// once would wait for each other.
template <class T>
class RowsAhead {
 public:
  // Spreads the lines of `count` rows evenly over that many calls of next().
  RowsAhead(const T* const* rows, std::size_t count, std::size_t width, std::size_t calls)
      : row_(rows), end_(rows + count), width_(width) {
    if (count == 0) return;
    period_ = std::max<std::size_t>(1, calls / (count * ((width + line - 1) / line)));
    left_ = period_;
    begin_row();
  }

  HWY_INLINE void next() {
    if (--left_ != 0) return;
    left_ = period_;
    hwy::Prefetch(at_);
    at_ += line;
    if (at_ < stop_) return;
    if (++row_ == end_) {
      left_ = never;
    } else {
      begin_row();
    }
  }

 private:
  static constexpr std::size_t line = 64 / sizeof(T);
  static constexpr std::size_t never = static_cast<std::size_t>(-1);

  void begin_row() {
    at_ = *row_;
    stop_ = at_ + width_;
  }

  const T* const* row_;
  const T* const* end_;
  std::size_t width_;
  std::size_t period_ = 1, left_ = never;
  const T* at_ = nullptr;
  const T* stop_ = nullptr;
};

// Stands for RowsAhead where nothing is prefetched.
struct NothingAhead {
  HWY_INLINE void next() {}
};

// sums[i] += Σ_j factors[i][j · apart] rows[j] over up to `keys_at_a_time` rows, some vectors of
// columns. Rows that are measured come from memory: those after them are prefetched line by line.
template <std::size_t queries, std::size_t vectors, std::size_t apart, class T, class Measured,
          class Ahead>
HWY_INLINE void add_columns(const T* const* factors, const T* const* rows, std::size_t count,
                            std::size_t column, T* const* sums, Measured& measured, Ahead& ahead) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t size = lanes_of<T>, chains = chains_of<queries>;
  using V = hn::Vec<decltype(d)>;
  V sum[chains][queries][vectors];
#pragma GCC unroll 2
  for (std::size_t c = 0; c < chains; ++c) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < queries; ++i) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < vectors; ++v) sum[c][i][v] = hn::Zero(d);
    }
  }
  const auto add_row = [&](std::size_t j, V(&to)[queries][vectors]) HWY_ATTR {
    ahead.next();
    const T* const row = rows[j] + column;
    if constexpr (!std::is_same_v<Measured, Unmeasured>) {
      const T* const behind = rows[j + rows_beyond] + column;
      for (std::size_t v = 0; v < vectors; ++v) fetch_to_second_level(behind + v * size);
    }
    V value[vectors];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) value[v] = hn::LoadU(d, row + v * size);
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) measured.see(value[v]);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < queries; ++i) {
      const V factor = hn::Set(d, factors[i][j * apart]);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < vectors; ++v) to[i][v] = hn::MulAdd(factor, value[v], to[i][v]);
    }
  };
  std::size_t j = 0;
  for (; j + chains <= count; j += chains) {
#pragma GCC unroll 2
    for (std::size_t c = 0; c < chains; ++c) add_row(j + c, sum[c]);
  }
  if (j < count) add_row(j, sum[0]);
#pragma GCC unroll 4
  for (std::size_t i = 0; i < queries; ++i) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) {
      V whole = sum[0][i][v];
      if constexpr (chains == 2) whole = hn::Add(whole, sum[1][i][v]);
      T* const to = sums[i] + column + v * size;
      hn::StoreU(hn::Add(hn::LoadU(d, to), whole), d, to);
    }
  }
}

// sums[i] += Σ_j factors[i][j · apart] rows[j] over up to `keys_at_a_time` rows, in a range of
// columns.
template <std::size_t queries, std::size_t apart = 1, class T, class Measured, class Ahead>
void add_rows(const T* const* factors, const T* const* rows, std::size_t count,
              const Range& columns, T* const* sums, Measured& seen, Ahead& given) {
  constexpr std::size_t size = lanes_of<T>;
  Measured measured = seen;
  Ahead ahead = given;
  std::size_t k = columns.first;
  for (; k + 4 * size <= columns.end; k += 4 * size) {
    add_columns<queries, 4, apart>(factors, rows, count, k, sums, measured, ahead);
  }
  for (; k + size <= columns.end; k += size) {
    add_columns<queries, 1, apart>(factors, rows, count, k, sums, measured, ahead);
  }
  for (; k < columns.end; ++k) {
    for (std::size_t j = 0; j < count; ++j) measured.see(rows[j][k]);
    for (std::size_t i = 0; i < queries; ++i) {
      T even = 0, odd = 0;
      for (std::size_t j = 0; j < count; ++j) {
        (j % 2 == 0 ? even : odd) += factors[i][j * apart] * rows[j][k];
      }
      sums[i][k] += even + odd;
    }
  }
  seen = measured;
  given = ahead;
}

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
    const hn::FixedTag<T, keys_together> four;
    auto sums = hn::Load(four, lanes);
    for (std::size_t i = keys_together; i < lanes_of<T>; i += keys_together) {
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

// The largest squares of all rows, lane by lane.
template <class T>
class LargestSquares {
 public:
  using V = hn::Vec<hn::ScalableTag<T>>;

  LargestSquares() : most_(hn::Zero(hn::ScalableTag<T>())), not_finite_(most_) {}

  HWY_INLINE void see(V squares) {
    const hn::ScalableTag<T> d;
    not_finite_ = hn::MulAdd(squares, hn::Zero(d), not_finite_);
    most_ = larger(d, squares, most_);
  }

  // An upper bound of the lengths of the rows; infinity if a number is not finite. One sum over
  // lanes for all rows, and little more than the longest one for rows of one distribution.
  T length(std::size_t width) const {
    const hn::ScalableTag<T> d;
    if (!hn::AllTrue(d, hn::Eq(not_finite_, hn::Zero(d)))) return infinite<T>;
    return length_of_squares(hn::GetLane(hn::SumOfLanes(d, most_)), width);
  }

 private:
  V most_, not_finite_;
};

// to[i][r] = q[i] · rows[r] for four rows. With `measured`, prefetches those behind them.
template <std::size_t queries, class T, class Measured>
HWY_INLINE void multiply_four(const T* const* q, const T* const* rows, std::size_t width,
                              T* const* to, Measured& measured) {
  constexpr bool measures = std::is_same_v<Measured, LargestSquares<T>>;
  const hn::ScalableTag<T> d;
  constexpr std::size_t size = lanes_of<T>, chains = chains_of<queries>;
  using V = hn::Vec<decltype(d)>;
  V sum[chains][queries][keys_together], squares[keys_together];
#pragma GCC unroll 4
  for (std::size_t r = 0; r < keys_together; ++r) squares[r] = hn::Zero(d);
#pragma GCC unroll 2
  for (std::size_t c = 0; c < chains; ++c) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < queries; ++i) {
#pragma GCC unroll 4
      for (std::size_t r = 0; r < keys_together; ++r) sum[c][i][r] = hn::Zero(d);
    }
  }
  std::size_t at = 0;  // the column of what is added
  const auto add = [&](const auto& part_of, V(&to_sum)[queries][keys_together]) HWY_ATTR {
    V factor[queries];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < queries; ++i) factor[i] = part_of(q[i]);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < keys_together; ++r) {
      const V key = part_of(rows[r]);
      if constexpr (measures) fetch_to_second_level(rows[r + rows_beyond] + at);
      if constexpr (measures) squares[r] = hn::MulAdd(key, key, squares[r]);
#pragma GCC unroll 4
      for (std::size_t i = 0; i < queries; ++i) {
        to_sum[i][r] = hn::MulAdd(factor[i], key, to_sum[i][r]);
      }
    }
  };
  std::size_t k = 0;
  for (; k + chains * size <= width; k += chains * size) {
#pragma GCC unroll 2
    for (std::size_t c = 0; c < chains; ++c) {
      at = k + c * size;
      add([&](const T* row) HWY_ATTR { return hn::LoadU(d, row + k + c * size); }, sum[c]);
    }
  }
  for (; k < width; k += size) {
    at = k;
    add([&](const T* row) HWY_ATTR { return first_numbers(d, row + k, width - k); }, sum[0]);
  }
#pragma GCC unroll 4
  for (std::size_t i = 0; i < queries; ++i) {
    if constexpr (chains == 2) {
#pragma GCC unroll 4
      for (std::size_t r = 0; r < keys_together; ++r) {
        sum[0][i][r] = hn::Add(sum[0][i][r], sum[1][i][r]);
      }
    }
    sums_of_lanes(d, sum[0][i][0], sum[0][i][1], sum[0][i][2], sum[0][i][3], to[i]);
  }
  if constexpr (measures) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < keys_together; ++r) measured.see(squares[r]);
  }
}

// to[i][j] = q[i] · rows[j] for the rows of a range.
template <std::size_t queries, class T, class Measured>
void multiply_keys(const T* const* q, const T* const* rows, const Range& some, std::size_t width,
                   T* const* to, Measured& seen) {
  Measured measured = seen;
  std::size_t j = some.first;
  for (; j + keys_together <= some.end; j += keys_together) {
    T* places[queries];
    for (std::size_t i = 0; i < queries; ++i) places[i] = to[i] + j;
    multiply_four<queries>(q, rows + j, width, places, measured);
  }
  for (; j < some.end; ++j) {
    measured.see(squares_in_lanes(hn::ScalableTag<T>(), rows[j], width));
    for (std::size_t i = 0; i < queries; ++i) to[i][j] = dot_product(q[i], rows[j], width);
  }
  seen = measured;
}

// Rows of queries that lie side by side in the lanes of one vector, or of two with 16 registers,
// and are whole groups of those that are read together.
template <class T>
constexpr std::size_t rows_in_lanes = queries_together == 4
                                          ? std::max(lanes_of<T>, queries_together)
                                          : 2 * lanes_of<T>;

// Keys whose products with them are in registers together.
constexpr std::size_t keys_in_lanes = queries_together == 4 ? 8 : 4;

// Chains of their sums: with one vector per key, an addition would wait for the one before.
template <class T>
constexpr std::size_t chains_in_lanes = rows_in_lanes<T> == lanes_of<T> ? 2 : 1;
static_assert(rows_in_lanes<float> % queries_together == 0 &&
              rows_in_lanes<double> % queries_together == 0);

// Columns of values whose sums are in registers together.
template <class T>
constexpr std::size_t strip_columns = 4 * lanes_of<T>;

// Calls of next() per tile of keys, and strips of columns of values per group of queries.
template <class T>
constexpr std::size_t steps_in_lanes(std::size_t width) {
  return width / chains_in_lanes<T>;
}
template <class T>
constexpr std::size_t strips(std::size_t width) {
  return width / strip_columns<T> + width % strip_columns<T> / lanes_of<T>;
}

// products[j][i] = q[i] · rows[j] for some rows that lie apart, `keys` of them, and all queries i
// side by side, which are packed as columns, [width][rows_in_lanes]. Numbers of keys are read one
// at a time, so that neither keys nor sums have to be turned.
template <std::size_t keys, class T, class Ahead>
HWY_INLINE void multiply_lanes(const T* HWY_RESTRICT packed, const T* const* rows,
                               std::size_t width, T* HWY_RESTRICT products, Ahead& given) {
  Ahead ahead = given;
  const hn::ScalableTag<T> d;
  constexpr std::size_t size = lanes_of<T>, vectors = rows_in_lanes<T> / size;
  constexpr std::size_t chains = chains_in_lanes<T>;
  using V = hn::Vec<decltype(d)>;
  V sum[chains][keys][vectors];
  const T* key[keys];
#pragma GCC unroll 8
  for (std::size_t j = 0; j < keys; ++j) key[j] = rows[j];
#pragma GCC unroll 2
  for (std::size_t c = 0; c < chains; ++c) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < keys; ++j) {
#pragma GCC unroll 2
      for (std::size_t v = 0; v < vectors; ++v) sum[c][j][v] = hn::Zero(d);
    }
  }
  const auto add = [&](std::size_t k, V(&to)[keys][vectors]) HWY_ATTR {
    V query[vectors];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < vectors; ++v) {
      query[v] = hn::LoadU(d, packed + k * rows_in_lanes<T> + v * size);
    }
#pragma GCC unroll 8
    for (std::size_t j = 0; j < keys; ++j) {
      const V number = hn::Set(d, key[j][k]);
#pragma GCC unroll 2
      for (std::size_t v = 0; v < vectors; ++v) {
        to[j][v] = hn::MulAdd(number, query[v], to[j][v]);
      }
    }
  };
  std::size_t k = 0;
  for (; k + chains <= width; k += chains) {
    ahead.next();
#pragma GCC unroll 2
    for (std::size_t c = 0; c < chains; ++c) add(k + c, sum[c]);
  }
  if (k < width) add(k, sum[0]);
#pragma GCC unroll 8
  for (std::size_t j = 0; j < keys; ++j) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < vectors; ++v) {
      V whole = sum[0][j][v];
      if constexpr (chains == 2) whole = hn::Add(whole, sum[1][j][v]);
      hn::StoreU(whole, d, products + j * rows_in_lanes<T> + v * size);
    }
  }
  given = ahead;
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
