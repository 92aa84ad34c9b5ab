#include "support/memory_limit.hpp"

#include <limits>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "attn/error.hpp"

#include "support/number_text.hpp"

namespace {

using attn::check_memory;

double machine_memory() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

TEST_CASE("what fits into memory passes the memory check") {
  CHECK_NOTHROW(check_memory(0, 8, "nothing", ""));
  CHECK_NOTHROW(check_memory(1000, 8, "a small tensor", "/query"));
}

TEST_CASE("what exceeds the machine's memory is refused with its size") {
  CHECK_THROWS_WITH_AS(
      check_memory(1'000'000'000'000'000, 4, "the weights [1,2]", "/query"),
      ("the weights [1,2] would take 4 PB, more than the memory of this machine, " +
       attn::bytes_text(machine_memory()) + "\n  where: /query\n  help:  make it smaller")
          .c_str(),
      attn::Error);
}

TEST_CASE("a size whose number of bytes overflows is refused, not wrapped around") {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  CHECK_THROWS_AS(check_memory(most, 8, "it", ""), attn::Error);
  CHECK_THROWS_AS(check_memory(most / 8 + 2, 8, "it", ""), attn::Error);
  CHECK_THROWS_AS(check_memory(most, most, "it", ""), attn::Error);
}

}  // namespace
