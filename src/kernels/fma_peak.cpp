#include "kernels/cpu_target.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fma_peak.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3
constexpr std::size_t accumulators = 24;
#else
constexpr std::size_t accumulators = 12;  // 16 registers hold them and the factors
#endif

template <class T>
double multiply_add(std::size_t rounds) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  V sum[accumulators];
  for (std::size_t i = 0; i < accumulators; ++i) sum[i] = hn::Set(d, static_cast<T>(i));
  const V factor = hn::Set(d, T(0.5)), term = hn::Set(d, T(1));
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t pass = 0; pass < 24 / accumulators; ++pass) {
#pragma GCC unroll 24
      for (std::size_t i = 0; i < accumulators; ++i) sum[i] = hn::MulAdd(sum[i], factor, term);
    }
  }
  V total = sum[0];
  for (std::size_t i = 1; i < accumulators; ++i) total = hn::Add(total, sum[i]);
  // The result depends on every sum, so that the compiler omits none.
  volatile T kept = hn::GetLane(total);
  static_cast<void>(kept);
  return static_cast<double>(rounds) * 24 * 2 * static_cast<double>(hn::Lanes(d));
}

double multiply_add_floats(std::size_t rounds) {
  return multiply_add<float>(rounds);
}

double multiply_add_doubles(std::size_t rounds) {
  return multiply_add<double>(rounds);
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(multiply_add_floats);
ATTN_FOR_TARGETS(multiply_add_doubles);

double multiply_add_floats(std::size_t rounds) noexcept {
  return ATTN_OF_TARGET(multiply_add_floats)(rounds);
}

double multiply_add_doubles(std::size_t rounds) noexcept {
  return ATTN_OF_TARGET(multiply_add_doubles)(rounds);
}

}  // namespace attn::kernels
#endif
