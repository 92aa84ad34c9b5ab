#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/cpu_target.hpp"

namespace attn::testing {

/// Makes the CPU target that main.cpp chose for all tests, or the best one, that of what follows.
inline void return_to_target() {
  const char* const all =
      std::getenv("ATTN_TEST_CPU");  // NOLINT: no thread changes the environment
  REQUIRE(kernels::use_cpu_target(all == nullptr ? "" : all));
}

/// Calls check() once for each CPU target of this machine, then returns to that of all tests. Where
/// main.cpp chose one, another run of the tests made these calls.
template <class Check>
void on_every_target(const Check& check) {
  if (std::getenv("ATTN_TEST_CPU") != nullptr) return;  // NOLINT: no thread changes the environment
  for (const std::string_view name : kernels::cpu_targets()) {
    CAPTURE(std::string(name));
    REQUIRE(kernels::use_cpu_target(name));
    check();
  }
  return_to_target();
}

}  // namespace attn::testing
