#include "plot/numbers/log_ticks.hpp"

#include <doctest/doctest.h>

namespace {

using attn::plot::log_ticks;
using Labels = std::vector<std::string>;

TEST_CASE("decades are labelled by powers of ten and parted by minor ticks") {
  const auto ticks = log_ticks({0.0005, 1}, 9);
  CHECK(ticks.labels == Labels{"10⁻³", "10⁻²", "10⁻¹", "10⁰"});
  CHECK(ticks.minor_values.size() == 5 + 3 * 8);
}

TEST_CASE("many decades thin out") {
  const auto ticks = log_ticks({1e-12, 1}, 5);
  CHECK(ticks.labels == Labels{"10⁻¹²", "10⁻⁹", "10⁻⁶", "10⁻³", "10⁰"});
}

TEST_CASE("within a decade round values are shown") {
  const auto ticks = log_ticks({0.2, 0.8}, 4);
  CHECK(ticks.labels == Labels{"0.2", "0.4", "0.6", "0.8"});
  CHECK(ticks.minor_values.empty());
}

TEST_CASE("a narrow range shows its ends") {
  CHECK(log_ticks({1e-8, 5e-8}, 4).labels == Labels{"1e\u221208", "5e\u221208"});
}

}  // namespace
