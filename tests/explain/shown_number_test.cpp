#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "explain/explanation.hpp"

using attn::shown_column;
using attn::shown_number;

TEST_CASE("a number with few decimals is shown as it is, any other with four") {
  CHECK(shown_number(2) == "2");
  CHECK(shown_number(-0.25) == "-0.25");
  CHECK(shown_number(0.1F) == "0.1");
  CHECK(shown_number(1.0 / 3) == "0.3333");
  CHECK(shown_number(0.50001) == "0.5000");
  CHECK(shown_number(999999) == "999999");
}

TEST_CASE("very large and very small numbers have an exponent, so that only 0 looks like 0") {
  CHECK(shown_number(0) == "0");
  CHECK(shown_number(-0.0) == "0");
  CHECK(shown_number(-1e9) == "-1e9");
  CHECK(shown_number(0.00012345) == "1.23e-04");
  CHECK(shown_number(0.0005) == "0.0005");
  CHECK(shown_number(1e-300) == "1.00e-300");
  CHECK(shown_number(1.7e308) == "1.7e+308");
}

TEST_CASE("infinities and NaN have their names") {
  CHECK(shown_number(INFINITY) == "inf");
  CHECK(shown_number(-INFINITY) == "-inf");
  CHECK(shown_number(-NAN) == "nan");
}

TEST_CASE("the numbers of a column have as many decimals as the one that needs most") {
  using Texts = std::vector<std::string>;
  CHECK(shown_column(std::array{1.0, 2.0}) == Texts{"1", "2"});
  CHECK(shown_column(std::array{1.0, 2.25, 0.0}) == Texts{"1.00", "2.25", "0"});
  CHECK(shown_column(std::array{1.0, 1.0 / 3}) == Texts{"1.0000", "0.3333"});
  CHECK(shown_column(std::array<double, 3>{1.0, 1e-7, INFINITY}) == Texts{"1", "1.00e-07", "inf"});
}
