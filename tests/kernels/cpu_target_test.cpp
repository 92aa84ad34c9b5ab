#include "kernels/cpu_target.hpp"

#include <doctest/doctest.h>

namespace kernels = attn::kernels;

TEST_CASE("the best CPU target is used until another is asked for") {
  REQUIRE(!kernels::cpu_targets().empty());
  CHECK(kernels::cpu_target() == kernels::cpu_targets().front());
  const std::string_view last = kernels::cpu_targets().back();
  CHECK(kernels::use_cpu_target(last));
  CHECK(kernels::cpu_target() == last);
  CHECK(kernels::use_cpu_target(""));
  CHECK(kernels::cpu_target() == kernels::cpu_targets().front());
}

TEST_CASE("an unknown CPU target is refused and changes nothing") {
  CHECK_FALSE(kernels::use_cpu_target("abacus"));
  CHECK(kernels::cpu_target() == kernels::cpu_targets().front());
}
