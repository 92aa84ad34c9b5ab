#pragma once

#include <cstddef>

#include <hwy/highway.h>

// HWY_EXPORT and HWY_DYNAMIC_DISPATCH without Highway's library, which at the start of a program
// measures a clock for its own benchmarks, for 4 to 5 ms.

namespace attn::kernels {

/// The index of the target in use in the tables of ATTN_FOR_TARGETS.
std::size_t target_index() noexcept;

}  // namespace attn::kernels

/// Defines the table of a function's addresses for all targets, null where there is none. Stands
/// after foreach_target.h under HWY_ONCE, in the namespace around those of the targets.
#define ATTN_FOR_TARGETS(function)                                       \
  constexpr decltype(&HWY_STATIC_DISPATCH(                               \
      function)) function##_for_targets[HWY_MAX_DYNAMIC_TARGETS + 1] = { \
      HWY_CHOOSE_TARGET_LIST(function), HWY_CHOOSE_FALLBACK(function)}

/// The function for the target in use.
#define ATTN_OF_TARGET(function) (*function##_for_targets[::attn::kernels::target_index()])
