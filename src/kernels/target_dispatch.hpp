#pragma once

#include <cstddef>

#include <hwy/highway.h>

// What HWY_EXPORT and HWY_DYNAMIC_DISPATCH are, without Highway's library: at the start of a
// program it measures a clock that only its own benchmarks read, for 4 to 5 ms.

namespace attn::kernels {

/// The place of the target in use in the tables of ATTN_FOR_TARGETS.
std::size_t target_index() noexcept;

}  // namespace attn::kernels

/// The addresses of a function for each target, null where there is none: behind foreach_target.h,
/// once, in the namespace around the targets' own.
#define ATTN_FOR_TARGETS(function)                                       \
  constexpr decltype(&HWY_STATIC_DISPATCH(                               \
      function)) function##_for_targets[HWY_MAX_DYNAMIC_TARGETS + 1] = { \
      HWY_CHOOSE_TARGET_LIST(function), HWY_CHOOSE_FALLBACK(function)}

/// The function for the target in use.
#define ATTN_OF_TARGET(function) (*function##_for_targets[::attn::kernels::target_index()])
