// Rows of scores: masking, largest score, exponentials, and values that are not finite. Scores are
// in units of ln 2: the softmax sums 2ˢ. Compiled once for each CPU target.

#if defined(ATTN_KERNELS_ATTENTION_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_ATTENTION_ROWS_INL
#undef ATTN_KERNELS_ATTENTION_ROWS_INL
#else
#define ATTN_KERNELS_ATTENTION_ROWS_INL
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "kernels/attention_kernels.hpp"
#include "kernels/number_sizes_inl.hpp"
#include "kernels/tile_inl.hpp"
#include "kernels/vector_math_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

// Keys [first, end) of a block.
struct Range {
  std::size_t first, end;
  bool empty() const { return first >= end; }
  Range within(std::size_t base, std::size_t count) const {
    const Range part{std::clamp(first, base, base + count) - base,
                     std::clamp(end, base, base + count) - base};
    return part.empty() ? Range{0, 0} : part;
  }
};

// Keys that any row of a strip sees, and keys that all of them see.
struct StripView {
  std::size_t row, rows;
  Range any, all;
};

template <class T>
StripView view_of(const BlockMask<T>& mask, std::size_t row, std::size_t rows) {
  constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  StripView view{row, rows, {none, 0}, {0, none}};
  for (std::size_t i = row; i < row + rows; ++i) {
    const Range seen{mask.first[i], mask.end[i]};
    view.all.first = std::max(view.all.first, seen.first);
    view.all.end = std::min(view.all.end, seen.end);
    if (seen.empty()) continue;
    view.any.first = std::min(view.any.first, seen.first);
    view.any.end = std::max(view.any.end, seen.end);
  }
  if (view.any.empty()) view.any = {0, 0};
  return view;
}

// The order of blocks of `step` keys. With terms by distance the last keys come first: with ALiBi
// nearer keys score higher, and a largest score that grows with every block would cost as much as
// the exponentials.
class KeySteps {
 public:
  template <class T>
  KeySteps(const BlockMask<T>& mask, const Range& keys, std::size_t step)
      : first_(keys.first / step),
        step_(step),
        backwards_(mask.terms != nullptr || mask.last_keys_first) {
    if (!keys.empty()) count_ = (keys.end + step - 1) / step - first_;
  }

  std::size_t count() const { return count_; }
  std::size_t base(std::size_t i) const {
    return (first_ + (backwards_ ? count_ - 1 - i : i)) * step_;
  }

 private:
  std::size_t first_, step_, count_ = 0;
  bool backwards_;
};

// Whether a block sees any of the keys base … base + keys − 1.
template <class T>
bool sees_keys(const BlockMask<T>& mask, std::size_t base, std::size_t keys) {
  if (mask.seen_groups == nullptr) return true;
  const std::uint8_t* const groups = mask.seen_groups;
  return std::any_of(groups + base / key_group, groups + (base + keys - 1) / key_group + 1,
                     [](std::uint8_t seen) { return seen != 0; });
}

// score + term · unit; a term of −∞ hides the key.
template <class T>
HWY_INLINE T with_added(T score, T term, T unit) {
  if (term == -infinite<T>) return term;
  // Only a quiet NaN without payload passes through power_of_two().
  return term == term ? score + term * unit : std::numeric_limits<T>::quiet_NaN();
}

// with_added() for `count` scores.
template <class T>
HWY_INLINE void add_to_scores(const T* terms, std::size_t count, T of_one, T* scores) {
  const hn::ScalableTag<T> d;
  const auto unit = hn::Set(d, of_one), hidden = hn::Set(d, -infinite<T>);
  const auto nan = hn::Set(d, std::numeric_limits<T>::quiet_NaN());
  std::size_t j = 0;
  for (; j + lanes_of<T> <= count; j += lanes_of<T>) {
    const auto term = hn::LoadU(d, terms + j);
    const auto sum = hn::MulAdd(term, unit, hn::LoadU(d, scores + j));
    const auto seen = hn::IfThenElse(hn::Eq(term, term), sum, nan);
    hn::StoreU(hn::IfThenElse(hn::Eq(term, hidden), hidden, seen), d, scores + j);
  }
  for (; j < count; ++j) scores[j] = with_added(scores[j], terms[j], of_one);
}

// Terms by distance of the keys base + 0, 1… for a query.
template <class T>
const T* terms_of(const BlockMask<T>& mask, std::size_t query, std::size_t base) {
  return mask.terms + static_cast<std::ptrdiff_t>(base) - static_cast<std::ptrdiff_t>(query);
}

// Adds the terms by distance to the scores of keys base + [range), in whole aligned vectors.
template <class T>
HWY_INLINE void add_terms(const BlockMask<T>& mask, std::size_t query, std::size_t base,
                          const Range& range, T* scores, T of_one) {
  const hn::ScalableTag<T> d;
  const auto unit = hn::Set(d, of_one);
  const T* const terms = terms_of(mask, query, base);
  for (std::size_t j = range.first / lanes_of<T> * lanes_of<T>; j < range.end; j += lanes_of<T>) {
    hn::StoreU(hn::MulAdd(hn::LoadU(d, terms + j), unit, hn::LoadU(d, scores + j)), d, scores + j);
  }
}

// c · tanh(score / c); with `hides`, −∞ stays.
template <bool hides, class T>
HWY_INLINE void cap_scores(T softcap, const Range& range, T* scores) {
  const hn::ScalableTag<T> d;
  const auto cap = hn::Set(d, softcap), hidden = hn::Set(d, -infinite<T>);
  // Whole vectors: scores beyond the range are overwritten later.
  for (std::size_t j = range.first / lanes_of<T> * lanes_of<T>; j < range.end; j += lanes_of<T>) {
    const auto score = hn::LoadU(d, scores + j);
    auto capped = hn::Mul(cap, hyperbolic_tangent(d, hn::Div(score, cap)));
    if constexpr (hides) capped = hn::IfThenElse(hn::Eq(score, hidden), hidden, capped);
    hn::StoreU(capped, d, scores + j);
  }
}

// Applies biases and mask to one row's scores within the range, and −∞ from there to `whole`.
// `room` takes the added terms; `unit` is the value of a score of 1 here.
template <class T>
void hide_scores(const BlockMask<T>& mask, std::size_t query, std::size_t base, const Range& range,
                 const Range& whole, T* scores, T* room, T unit = static_cast<T>(log2_e)) {
  if (mask.terms != nullptr) add_terms(mask, query, base, range, scores, unit);
  if (mask.added != nullptr && !range.empty()) {
    mask.added(mask.context, query, base + range.first, range.end - range.first, room);
    add_to_scores(room, range.end - range.first, unit, scores + range.first);
  }
  const std::size_t first = range.empty() ? whole.end : range.first;
  std::fill(scores + whole.first, scores + first, -infinite<T>);
  if (!range.empty()) std::fill(scores + range.end, scores + whole.end, -infinite<T>);
}

// Replaces the scores of a strip and the keys base + [seen) by their expression, if there is one.
template <class T>
void rewrite_scores(const BlockMask<T>& mask, std::size_t row, std::size_t rows, std::size_t base,
                    const Range& seen, T* scores, std::size_t stride) {
  if (mask.rewritten == nullptr || seen.empty()) return;
  mask.rewritten(mask.context,
                 {row, rows, base + seen.first, seen.end - seen.first, scores + seen.first, stride},
                 log2_e);
}

// hide_scores() after softcap; an expression has replaced the scores before.
template <class T>
void mask_scores(const BlockMask<T>& mask, T softcap, std::size_t query, std::size_t base,
                 const Range& range, const Range& whole, T* scores, T* room) {
  if (softcap > 0 && !range.empty()) {
    if (mask.rewritten != nullptr) {
      cap_scores<true>(softcap, range, scores);
    } else {
      cap_scores<false>(softcap, range, scores);
    }
  }
  hide_scores(mask, query, base, range, whole, scores, room);
}

// Raises `largest` to the largest score. Returns whether it grew. NaN is ignored; it enters through
// the sums. With `with_terms` the terms are added to the scores on the way.
template <bool with_terms = false, class T>
HWY_INLINE bool exceeded(T* scores, const Range& range, T& largest, const T* terms = nullptr) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t step = lanes_of<T>;
  const auto unit = hn::Set(d, static_cast<T>(log2_e));
  const auto score = [&](std::size_t j) HWY_ATTR {
    auto x = hn::LoadU(d, scores + j);
    if constexpr (with_terms) {
      x = hn::MulAdd(hn::LoadU(d, terms + j), unit, x);
      hn::StoreU(x, d, scores + j);
    }
    return x;
  };
  auto a = hn::Set(d, largest), b = a, c = a, e = a;
  std::size_t j = range.first;
  for (; j + 4 * step <= range.end; j += 4 * step) {
    a = larger(d, score(j), a);
    b = larger(d, score(j + step), b);
    c = larger(d, score(j + 2 * step), c);
    e = larger(d, score(j + 3 * step), e);
  }
  for (; j < range.end; j += step) a = larger(d, score(j), a);
  a = hn::Max(hn::Max(a, b), hn::Max(c, e));
  if (hn::AllFalse(d, hn::Gt(a, hn::Set(d, largest)))) return false;
  largest = hn::GetLane(hn::MaxOfLanes(d, a));
  return true;
}

// Shifts up to that size are part of power_of_two().
template <class T>
constexpr T most_shift = 1 << 20;

// The shift of the scores of a row: its largest score, rounded to a whole number. Powers are lifted
// by 2^lift, so that no weight that counts falls below the range of the type.
template <class T>
struct Shift {
  static constexpr T lift = 64;

  T value;   ///< 2^(score − value + lift) is what is summed
  T turned;  ///< the form of it that power_of_two() takes

  static Shift of(T largest) {
    // Beyond that range the largest score itself has to be subtracted beforehand.
    if (!(std::abs(largest) < most_shift<T>)) return {largest, rounding<T> + lift};
    const T turned = turned_shift(largest);
    return {shift_of(turned), turned + lift};
  }
  bool outside() const { return turned == rounding<T> + lift && value != 0; }
};

// The sum of powers of a row, at that shift, with its sink; 0 for a row without keys, which stays
// empty.
template <class T>
double with_sink(double total, const QueryBlock<T>& block, T shift) {
  if (total == 0 || block.sink == -infinite<double>) return total;
  const double power = block.sink * log2_e - static_cast<double>(shift) + Shift<double>::lift;
  return total + std::exp2(power);
}

// Whether a sink is so much larger than all scores of a row that T holds too few of its powers.
template <class T>
bool sink_exceeds(const QueryBlock<T>& block, T shift) {
  return sizeof(T) == sizeof(float) && block.sink * log2_e > static_cast<double>(shift) + 40;
}

// The least score whose power counts at the shift `turned`: a weight below half the least number of
// T is 0. Smaller powers would leave the normal numbers in products with small values, and
// processors take a hundred times as long over those.
template <class T>
constexpr T least_lifted = (sizeof(T) == sizeof(float) ? T(154) : T(1078)) - Shift<T>::lift;
template <class T>
T least_score(T turned) {
  return shift_of(turned) - least_lifted<T>;
}

template <class T>
void subtract(T* scores, const Range& range, T value) {
  for (std::size_t j = range.first; j < range.end; ++j) scores[j] -= value;
}

// Turns scores into 2^(score − shift + lift) in place and adds them to `total`, a vector, in parts
// of few keys (see LongSums). If shift.outside(), the shift has been subtracted before.
template <bool hidden, class T>
HWY_INLINE void exponentials(T* scores, const Range& range, const Shift<T>& shift, T* total) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t step = lanes_of<T>, part = 32 * step;
  const auto turned = hn::Set(d, shift.turned);
  const auto least = hn::Set(d, least_score(shift.turned));
  auto sum = hn::Zero(d);
  for (std::size_t j = range.first; j < range.end;) {
    const std::size_t end = std::min(range.end, j + part);
    auto a = hn::Zero(d), b = a;
    for (; j + 2 * step <= end; j += 2 * step) {
      const auto x = power_of_two<hidden>(d, hn::LoadU(d, scores + j), turned, least);
      const auto y = power_of_two<hidden>(d, hn::LoadU(d, scores + j + step), turned, least);
      hn::StoreU(x, d, scores + j);
      hn::StoreU(y, d, scores + j + step);
      a = hn::Add(a, x);
      b = hn::Add(b, y);
    }
    for (; j < end; j += step) {
      const auto x = power_of_two<hidden>(d, hn::LoadU(d, scores + j), turned, least);
      hn::StoreU(x, d, scores + j);
      a = hn::Add(a, x);
    }
    sum = hn::Add(sum, hn::Add(a, b));
  }
  hn::StoreU(hn::Add(hn::LoadU(d, total), sum), d, total);
}

// Scores c[r, key − base] of strips of tile_rows packed queries with the panels that hold keys
// base + [range). Each panel is read once for all strips, which fetch the next one meanwhile.
template <class T>
HWY_INLINE void multiply_panels(const T* queries, std::size_t strips, const T* keys,
                                std::size_t width, const Range& range, T* c, std::size_t stride) {
  constexpr std::size_t columns = columns_of<T>;
  const std::size_t first = range.first / columns * columns;
  for (std::size_t k = 0; k < width; k += score_depth) {
    const std::size_t depth = std::min(score_depth, width - k);
    for (std::size_t column = first; column < range.end; column += columns) {
      const T* panel = keys + column * width + k * columns;
      const bool last = column + columns >= range.end;
      const T* next = last ? keys + first * width + (k + depth) * columns : panel + columns * width;
      for (std::size_t strip = 0; strip < strips; ++strip) {
        const std::size_t row = strip * tile_rows;
        const T* rows = queries + row * width + k * tile_rows;
        T* to = c + row * stride + column;
        if (strips == 1) {
          multiply_tile<true>(rows, 0, panel, depth, to, stride, k > 0);
        } else {
          multiply_tile<true, tile_rows, true>(rows, 0, panel, depth, to, stride, k > 0,
                                               next + strip * depth * columns / strips);
        }
      }
    }
  }
}

template <class T>
T dot_product(const T* a, const T* b, std::size_t width) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t size = lanes_of<T>;
  auto s0 = hn::Zero(d), s1 = s0;
  std::size_t k = 0;
  for (; k + 2 * size <= width; k += 2 * size) {
    s0 = hn::MulAdd(hn::LoadU(d, a + k), hn::LoadU(d, b + k), s0);
    s1 = hn::MulAdd(hn::LoadU(d, a + k + size), hn::LoadU(d, b + k + size), s1);
  }
  if (k + size <= width) {
    s0 = hn::MulAdd(hn::LoadU(d, a + k), hn::LoadU(d, b + k), s0);
    k += size;
  }
  T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
  for (; k < width; ++k) sum += a[k] * b[k];
  return sum;
}

// Adds the values of a head that are not finite to a query's output, each times its weight in the
// type of the result: a weight of 0 times infinity is NaN (IEEE 754). `shift` and `total`: those of
// the row's powers. Hidden keys add nothing.
template <class T>
void add_non_finite_values(const QueryBlock<T>& block, const PackedHead<T>& head, std::size_t query,
                           T shift, double total, T* output) {
  const std::uint32_t* const last = head.non_finite_keys + head.non_finite_count;
  const std::uint32_t* key =
      std::lower_bound<const std::uint32_t*>(head.non_finite_keys, last, block.mask.first[query]);
  for (; key != last && *key < block.mask.end[query]; ++key) {
    const T* const row = block.query + query * block.query_stride;
    auto score =
        static_cast<double>(dot_product(row, head.key_rows[*key], block.sizes.width)) * block.scale;
    if (block.softcap > 0) score = block.softcap * std::tanh(score / block.softcap);
    if (block.mask.added != nullptr) {
      T term;
      block.mask.added(block.mask.context, query, *key, 1, &term);
      score = term == -infinite<T> ? -infinite<double> : score + static_cast<double>(term);
    }
    if (block.mask.terms != nullptr) {
      score += static_cast<double>(
          block.mask.terms[static_cast<std::ptrdiff_t>(*key) - static_cast<std::ptrdiff_t>(query)]);
    }
    if (score == -infinite<double>) continue;
    const double power = score * log2_e - static_cast<double>(shift) + Shift<double>::lift;
    const double exact = std::exp2(power) / total;
    const T weight = exact <= block.vanishing ? T(0) : static_cast<T>(exact);
    for (std::size_t k = 0; k < block.sizes.value_width; ++k) {
      output[k] += weight * head.value_rows[*key][k];
    }
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
