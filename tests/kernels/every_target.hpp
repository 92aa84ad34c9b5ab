#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/cpu_target.hpp"

namespace attn::testing {

/// Calls check() once for each CPU target of this machine, then returns to the best.
template <class Check>
void on_every_target(const Check& check) {
  for (const std::string_view name : kernels::cpu_targets()) {
    CAPTURE(std::string(name));
    REQUIRE(kernels::use_cpu_target(name));
    check();
  }
  kernels::use_cpu_target("");
}

}  // namespace attn::testing
