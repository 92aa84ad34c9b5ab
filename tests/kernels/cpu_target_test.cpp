#include "kernels/cpu_target.hpp"

#include <algorithm>
#include <array>
#include <string>

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

TEST_CASE("every CPU target is one that users can name, the best ones first") {
  constexpr std::array<std::string_view, 7> known{"amx",  "avx512", "avx2",  "sse4",
                                                  "sse2", "neon",   "scalar"};
  const auto targets = kernels::cpu_targets();
  std::size_t last = 0;
  for (const std::string_view name : targets) {
    CAPTURE(std::string(name));
    const auto place = std::find(known.begin(), known.end(), name);
    REQUIRE(place != known.end());
    const auto rank = static_cast<std::size_t>(place - known.begin()) + 1;
    CHECK(rank > last);
    last = rank;
  }
#if defined(__aarch64__)
  // Which every processor of its kind has, and none of another.
  constexpr bool has_neon = true;
#else
  constexpr bool has_neon = false;
#endif
  CHECK((targets.front() == "neon") == has_neon);
}

TEST_CASE("an unknown CPU target is refused and changes nothing") {
  CHECK_FALSE(kernels::use_cpu_target("abacus"));
  CHECK(kernels::cpu_target() == kernels::cpu_targets().front());
}
