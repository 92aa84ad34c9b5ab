// Values that are not finite. Compiled once for each CPU target.

#if defined(ATTN_KERNELS_ODD_VALUES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_ODD_VALUES_INL
#undef ATTN_KERNELS_ODD_VALUES_INL
#else
#define ATTN_KERNELS_ODD_VALUES_INL
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "kernels/attention_rows_inl.hpp"
#include "kernels/packed_head.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

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

// Adds to a query's output the values that are not finite, each times its weight as the type of the
// result holds it: where that is 0, infinity makes NaN of it (IEEE 754). `shift` and `total` are
// those of the row's powers. Of a hidden key nothing is added.
template <class T>
void add_odd_values(const QueryBlock<T>& block, const PackedHead<T>& head, std::size_t query,
                    T shift, double total, T* output) {
  const std::uint32_t* const last = head.odd_keys + head.odd_count;
  const std::uint32_t* odd =
      std::lower_bound<const std::uint32_t*>(head.odd_keys, last, block.mask.first[query]);
  for (; odd != last && *odd < block.mask.end[query]; ++odd) {
    const T* const row = block.query + query * block.query_stride;
    auto score =
        static_cast<double>(dot_product(row, head.key_rows[*odd], block.sizes.width)) * block.scale;
    if (block.softcap > 0) score = block.softcap * std::tanh(score / block.softcap);
    if (block.mask.added != nullptr) {
      T term;
      block.mask.added(block.mask.context, query, *odd, 1, &term);
      score = term == -infinite<T> ? -infinite<double> : score + static_cast<double>(term);
    }
    if (block.mask.terms != nullptr) {
      score += static_cast<double>(
          block.mask.terms[static_cast<std::ptrdiff_t>(*odd) - static_cast<std::ptrdiff_t>(query)]);
    }
    if (score == -infinite<double>) continue;
    const double power = score * log2_e - static_cast<double>(shift) + Shift<double>::lift;
    const double exact = std::exp2(power) / total;
    const T weight = exact <= block.vanishing ? T(0) : static_cast<T>(exact);
    for (std::size_t k = 0; k < block.sizes.value_width; ++k) {
      output[k] += weight * head.value_rows[*odd][k];
    }
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
