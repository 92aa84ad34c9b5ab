#include "support/number_text.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

#include <doctest/doctest.h>

namespace {

using attn::bytes_text;
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

TEST_CASE("a number of bytes is shown to three digits in the largest unit it fills") {
  CHECK(bytes_text(0) == "0 bytes");
  CHECK(bytes_text(999) == "999 bytes");
  CHECK(bytes_text(1000) == "1 kB");
  CHECK(bytes_text(1500) == "1.5 kB");
  CHECK(bytes_text(1234567) == "1.23 MB");
  CHECK(bytes_text(1.5e9) == "1.5 GB");
  CHECK(bytes_text(4e12) == "4 TB");
  CHECK(bytes_text(2e15) == "2 PB");
  CHECK(bytes_text(18446744073709551615.0) == "18.4 EB");
}

TEST_CASE("limits are told as flags take them, and amounts beyond them apart from them") {
  using attn::amount_text;
  using attn::limit_text;
  CHECK(limit_text(239) == "239");
  CHECK(limit_text(1500) == "1500");
  CHECK(limit_text(1.5e6) == "1500k");
  CHECK(limit_text(1e7) == "10M");
  CHECK(limit_text(1e12) == "1T");
  CHECK(limit_text(1073741824) == "1073741824");
  CHECK(amount_text(240, 239) == "240");
  CHECK(amount_text(9999, 1000) == "9999");
  CHECK(amount_text(12345, 1000) == "12.3k");
  CHECK(amount_text(999999, 1000) == "1M");
  CHECK(amount_text(1.8e13, 1e12) == "18T");
  CHECK(amount_text(1000001, 1e6) == "1.000001M");
  CHECK(amount_text(1.6000000064e19, 1e9) == "1.6e19");
}

TEST_CASE("a number of bytes that rounds to a thousand of one unit is one of the next") {
  CHECK(bytes_text(999499) == "999 kB");
  CHECK(bytes_text(999500) == "1 MB");
  CHECK(bytes_text(999999999) == "1 GB");
}

TEST_CASE("floats are written in the shortest form that reads back as a float") {
  CHECK(attn::float_text(0.1F) == "0.1");
  CHECK(attn::float_text(std::copysign(std::numeric_limits<float>::quiet_NaN(), -1.0F)) == "nan");
}

TEST_CASE("a number of digits is as printf has it") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(attn::with_decimals(2.5, 2) == "2.50");
  CHECK(attn::with_decimals(-0.001, 2) == "-0.00");
  CHECK(attn::with_decimals(1e300, 0).size() == 301);
  CHECK(attn::with_decimals(std::copysign(nan, -1.0), 2) == "nan");
  CHECK(attn::with_digits(0.25, 3) == "0.25");
  CHECK(attn::with_digits(123456, 3) == "1.23e+05");
  CHECK(attn::with_digits(-std::numeric_limits<double>::infinity(), 3) == "-inf");
  CHECK(attn::with_exponent(1.5e-7, 2) == "1.50e-07");
}

TEST_CASE("zeros at the end of decimals are left out") {
  CHECK(attn::with_most_decimals(2.5, 3) == "2.5");
  CHECK(attn::with_most_decimals(3, 3) == "3");
  CHECK(attn::with_most_decimals(100, 0) == "100");
  CHECK(attn::with_most_decimals(-0.0001, 3) == "0");
}

TEST_CASE("whole numbers are grouped, padded and written in hexadecimal") {
  CHECK(attn::grouped(2048) == "2048");
  CHECK(attn::grouped(124439808) == "124\u202F439\u202F808");
  CHECK(attn::grouped(12345) == "12\u202F345");
  CHECK(attn::with_zeros(42, 6) == "000042");
  CHECK(attn::with_zeros(1234567, 6) == "1234567");
  CHECK(attn::hexadecimal(0xFF, 4) == "00ff");
  CHECK(attn::hexadecimal(0xFFFFFFFFFFFFFFFF, 1) == "ffffffffffffffff");
}

TEST_CASE("an exponent is as short as documents write it") {
  CHECK(attn::with_short_exponent("-1e+09") == "-1e9");
  CHECK(attn::with_short_exponent("1.5e-07") == "1.5e-7");
  CHECK(attn::with_short_exponent("1e+20") == "1e20");
  CHECK(attn::with_short_exponent("1e+00") == "1e0");
  CHECK(attn::with_short_exponent("0.25") == "0.25");
}

}  // namespace
