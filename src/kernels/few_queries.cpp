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

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

constexpr std::size_t step = 64;  // keys that all queries see before the next are read

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

template <class T>
void add_multiple(T* sum, const T* row, T factor, std::size_t width) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t size = lanes_of<T>;
  const auto f = hn::Set(d, factor);
  std::size_t k = 0;
  for (; k + size <= width; k += size) {
    hn::StoreU(hn::MulAdd(f, hn::LoadU(d, row + k), hn::LoadU(d, sum + k)), d, sum + k);
  }
  for (; k < width; ++k) sum[k] += factor * row[k];
}

// One query and what some keys contribute to it.
template <class T>
struct Partial {
  T *sums, *shift, *total;

  static Partial at(T* partial, std::size_t query, const HeadSizes& sizes) {
    T* row = partial + query * (sizes.value_width + 2);
    return {row, row + sizes.value_width, row + sizes.value_width + 1};
  }

  // The least factor is not 0, so that an infinite value stays infinite.
  void multiply_by(T factor, std::size_t width) {
    factor = std::max(factor, std::numeric_limits<T>::min());
    multiply(sums, width, factor);
    *total *= factor;
  }
};

template <class T>
void add_keys(const QueryBlock<T>& block, std::size_t query, const T* const* key_rows,
              const T* const* value_rows, const Range& part, Partial<T>& partial, T& largest) {
  HWY_ALIGN std::array<T, step> scores{}, room;
  HWY_ALIGN std::array<T, lanes_of<T>> total{};
  const Range own = Range{block.mask.first[query], block.mask.end[query]}.within(
      part.first, part.end - part.first);
  if (own.empty()) return;
  const T* q = block.query + query * block.query_stride;
  const T factor = static_cast<T>(block.scale * log2_e);
  for (std::size_t j = own.first; j < own.end; ++j) {
    const T score = dot_product(q, key_rows[part.first + j], block.sizes.width) * factor;
    scores[j] = score == score ? score : std::numeric_limits<T>::quiet_NaN();
  }
  const Range whole{own.first / lanes_of<T> * lanes_of<T>, rounded_up(own.end, lanes_of<T>)};
  mask_scores(block.mask, static_cast<T>(block.softcap * log2_e), query, part.first, own, whole,
              scores.data(), room.data());
  // The scores before they are turned into weights tell which keys are hidden.
  const std::array<T, step> masked = scores;
  if (exceeded(scores.data(), whole, largest)) {
    const T now = Shift<T>::of(largest).value;
    if (*partial.total != 0) {
      partial.multiply_by(std::exp2(*partial.shift - now), block.sizes.value_width);
    }
    *partial.shift = now;
  }
  Shift<T> shift = Shift<T>::of(largest == -infinite<T> ? T(0) : largest);
  if (shift.outside()) {
    subtract(scores.data(), whole, shift.value);
    shift = Shift<T>::of(0);
  }
  exponentials<true>(scores.data(), whole, shift, total.data());
  const hn::ScalableTag<T> d;
  *partial.total += hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, total.data())));
  for (std::size_t j = own.first; j < own.end; ++j) {
    if (masked[j] == -infinite<T>) continue;
    const T weight = scores[j] == 0 ? std::numeric_limits<T>::min() : scores[j];
    add_multiple(partial.sums, value_rows[part.first + j], weight, block.sizes.value_width);
  }
}

// A total that says that scores or sums may leave the range of T.
template <class T>
constexpr T out_of_range = -1;

template <class T>
void attend(const QueryBlock<T>& block, const T* const* key_rows, const T* const* value_rows,
            std::size_t first, std::size_t count, T* partial) {
  std::array<T, few_queries> largest;
  largest.fill(-infinite<T>);
  std::fill_n(partial, partial_count(block.queries, block.sizes), T(0));
  T largest_query = 0;
  for (std::size_t i = 0; i < block.queries; ++i) {
    const T* row = block.query + i * block.query_stride;
    largest_query = std::max(largest_query, extent_of(row, block.sizes.width).largest);
  }
  largest_query *= std::max(T(1), std::abs(static_cast<T>(block.scale * log2_e)));
  for (std::size_t key = first; key < first + count; key += step) {
    const Range part{key, std::min(key + step, first + count)};
    T largest_key = 0, largest_value = 0;
    for (std::size_t j = part.first; j < part.end; ++j) {
      largest_key = std::max(largest_key, extent_of(key_rows[j], block.sizes.width).largest);
      largest_value =
          std::max(largest_value, extent_of(value_rows[j], block.sizes.value_width).largest);
    }
    if (!products_fit(largest_query, largest_key, block.sizes.width) ||
        !values_fit(largest_value, block.sizes.keys)) {
      *Partial<T>::at(partial, 0, block.sizes).total = out_of_range<T>;
      return;
    }
    for (std::size_t i = 0; i < block.queries; ++i) {
      Partial<T> own = Partial<T>::at(partial, i, block.sizes);
      add_keys(block, i, key_rows, value_rows, part, own, largest[i]);
    }
  }
}

template <class T>
BlockOutcome merge(const QueryBlock<T>& block, T* partials, std::size_t parts) {
  const std::size_t width = block.sizes.value_width;
  const std::size_t stride = partial_count(block.queries, block.sizes);
  BlockOutcome outcome;
  for (std::size_t i = 0; i < block.queries; ++i) {
    T shift = -infinite<T>;
    for (std::size_t p = 0; p < parts; ++p) {
      const auto part = Partial<T>::at(partials + p * stride, i, block.sizes);
      if (*part.total == out_of_range<T>) return {.out_of_range = true};
      if (*part.total != 0) shift = std::max(shift, *part.shift);
    }
    T* to = block.output + i * block.output_stride;
    std::fill_n(to, width, T(0));
    T total = 0;
    for (std::size_t p = 0; p < parts; ++p) {
      auto part = Partial<T>::at(partials + p * stride, i, block.sizes);
      if (*part.total == 0) continue;
      part.multiply_by(std::exp2(*part.shift - shift), width);
      total += *part.total;
      for (std::size_t k = 0; k < width; ++k) to[k] += part.sums[k];
    }
    if (total == 0) {
      ++outcome.empty_rows;
      continue;
    }
    if (!std::isfinite(total)) outcome.overflow = true;
    multiply(to, width, 1 / total);
    if (!all_finite(to, width)) outcome.overflow = true;
  }
  return outcome;
}

}  // namespace

void attend_float_keys(const QueryBlock<float>& block, const float* const* key_rows,
                       const float* const* value_rows, std::size_t first, std::size_t count,
                       float* partial) {
  attend(block, key_rows, value_rows, first, count, partial);
}
void attend_double_keys(const QueryBlock<double>& block, const double* const* key_rows,
                        const double* const* value_rows, std::size_t first, std::size_t count,
                        double* partial) {
  attend(block, key_rows, value_rows, first, count, partial);
}
BlockOutcome merge_floats(const QueryBlock<float>& block, float* partials, std::size_t parts) {
  return merge(block, partials, parts);
}
BlockOutcome merge_doubles(const QueryBlock<double>& block, double* partials, std::size_t parts) {
  return merge(block, partials, parts);
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

HWY_EXPORT(attend_float_keys);
HWY_EXPORT(attend_double_keys);
HWY_EXPORT(merge_floats);
HWY_EXPORT(merge_doubles);

void attend_keys(const QueryBlock<float>& block, const float* const* key_rows,
                 const float* const* value_rows, std::size_t first, std::size_t count,
                 float* partial) noexcept {
  HWY_DYNAMIC_DISPATCH(attend_float_keys)(block, key_rows, value_rows, first, count, partial);
}
void attend_keys(const QueryBlock<double>& block, const double* const* key_rows,
                 const double* const* value_rows, std::size_t first, std::size_t count,
                 double* partial) noexcept {
  HWY_DYNAMIC_DISPATCH(attend_double_keys)(block, key_rows, value_rows, first, count, partial);
}

BlockOutcome merge_partials(const QueryBlock<float>& block, float* partials,
                            std::size_t parts) noexcept {
  return HWY_DYNAMIC_DISPATCH(merge_floats)(block, partials, parts);
}
BlockOutcome merge_partials(const QueryBlock<double>& block, double* partials,
                            std::size_t parts) noexcept {
  return HWY_DYNAMIC_DISPATCH(merge_doubles)(block, partials, parts);
}

}  // namespace attn::kernels
#endif
