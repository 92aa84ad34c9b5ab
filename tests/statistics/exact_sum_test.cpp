#include "statistics/exact_sum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"

namespace attn {
namespace {

std::vector<double> drawn_numbers(std::size_t count) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> mantissa(-1, 1);
  std::uniform_int_distribution<int> exponent(-900, 900);
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    numbers.push_back(std::ldexp(mantissa(random), exponent(random)));
  }
  return numbers;
}

ExactSum sum_of(const std::vector<double>& numbers) {
  ExactSum sum;
  for (const double number : numbers) sum.add(number);
  return sum;
}

}  // namespace

TEST_CASE("an exact sum loses nothing of numbers that cancel") {
  ExactSum sum = sum_of({1e300, 1, -1e300, 1e-300, -1});
  CHECK(static_cast<double>(sum.value()) == 1e-300);
  sum.add(-1e-300);
  CHECK(sum.value() == 0);
  CHECK(sum.text() == "0");
}

TEST_CASE("an exact sum holds the smallest and the largest doubles") {
  const double least = std::numeric_limits<double>::denorm_min();
  const double most = std::numeric_limits<double>::max();
  CHECK(static_cast<double>(sum_of({least, least}).value()) == 2 * least);
  CHECK(sum_of({most, most}).value() == 2 * static_cast<long double>(most));
  CHECK(static_cast<double>(sum_of({-most, least, most}).value()) == least);
}

TEST_CASE("an exact sum is the same in any order and however it is put together") {
  std::vector<double> numbers = drawn_numbers(2000);
  const std::string all = sum_of(numbers).text();
  std::mt19937_64 random(3);
  for (int round = 0; round < 5; ++round) {
    std::shuffle(numbers.begin(), numbers.end(), random);
    ExactSum joined;
    for (std::size_t part = 0; part < 4; ++part) {
      joined.add(sum_of({numbers.begin() + static_cast<std::ptrdiff_t>(part * 500),
                         numbers.begin() + static_cast<std::ptrdiff_t>(part * 500 + 500)}));
    }
    CHECK(joined.text() == all);
  }
}

TEST_CASE("the text of an exact sum reads back to the same sum") {
  for (const double number : {0.1, -0.1, 1.0, -1e-310, 3e305}) {
    const ExactSum sum = sum_of({number, number, 1e-20});
    CHECK(ExactSum::from_text(sum.text()).text() == sum.text());
  }
  CHECK(sum_of({1}).text() == "+33:40000");  // 2^18 of 2^(33·32 − 1074)
  CHECK(sum_of({-1}).text() == "-33:40000");
}

TEST_CASE("squares are added without rounding") {
  ExactSum squares;
  const double number = 1 + std::ldexp(1.0, -40);
  squares.add_square(number);
  squares.add(-1);
  squares.add(-std::ldexp(1.0, -39));
  CHECK(static_cast<double>(squares.value()) == std::ldexp(1.0, -80));
}

TEST_CASE("what is no exact sum is refused") {
  for (const char* text : {"", "1", "+", "+3", "+3:", "+x:1", "+99:1", "-3:xyz"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(ExactSum::from_text(text), Error);
  }
  CHECK(error_from([] { ExactSum::from_text("+3:g"); }) ==
        "\"+3:g\" is not an exact sum\n  help:  the file was changed or is incomplete: start again "
        "without it");
}

}  // namespace attn
