#include "support/number_text.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

#include <doctest/doctest.h>

namespace {

using attn::number_text;

TEST_CASE("a number is written in the shortest form that reads back") {
  CHECK(number_text(0.1) == "0.1");
  CHECK(number_text(3) == "3");
  CHECK(number_text(-2.5) == "-2.5");
  CHECK(number_text(-1e9) == "-1e+09");
  CHECK(number_text(1.0 / 3) == "0.3333333333333333");
  CHECK(number_text(5e-324) == "5e-324");
}

TEST_CASE("zero keeps its sign") {
  CHECK(number_text(0.0) == "0");
  CHECK(number_text(-0.0) == "-0");
}

TEST_CASE("infinities and NaN are written by name, NaN without a sign") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(number_text(infinity) == "inf");
  CHECK(number_text(-infinity) == "-inf");
  CHECK(number_text(nan) == "nan");
  CHECK(number_text(std::copysign(nan, -1.0)) == "nan");
}

TEST_CASE("the text of any finite number reads back to the same bits") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t bits = random();
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    if (!std::isfinite(number)) continue;
    CAPTURE(number);
    REQUIRE(std::strtod(number_text(number).c_str(), nullptr) == number);
  }
}

}  // namespace
