#include "kernels/cpu_target.hpp"

#include <doctest/doctest.h>

#include "kernels/matrix_tile.hpp"

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

TEST_CASE("matrix tiles are used by the target amx alone, which comes first where they are") {
  for (const std::string_view name : kernels::cpu_targets()) {
    REQUIRE(kernels::use_cpu_target(name));
    CHECK(kernels::uses_matrix_tiles() == (name == "amx"));
  }
  kernels::use_cpu_target("");
  CHECK((kernels::cpu_targets().front() == "amx") == kernels::matrix_tiles_present());
}

TEST_CASE("an unknown CPU target is refused and changes nothing") {
  CHECK_FALSE(kernels::use_cpu_target("abacus"));
  CHECK(kernels::cpu_target() == kernels::cpu_targets().front());
}
