#include "statistics/exact_sums.hpp"

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

namespace {

WeightSum weights_of(const std::vector<double>& weights) {
  WeightSum sum;
  for (const double weight : weights) sum.add(weight);
  return sum;
}

}  // namespace

TEST_CASE("sums of weights are exact, whatever their order") {
  std::vector<double> weights;
  std::mt19937 random(3);
  for (int n = 0; n < 1000; ++n) {
    weights.push_back(std::ldexp(static_cast<float>(random()), -40 - static_cast<int>(n % 20)));
  }
  const std::string text = weights_of(weights).text();
  for (int n = 0; n < 5; ++n) {
    std::ranges::shuffle(weights, random);
    const auto middle = weights.begin() + 300;
    WeightSum sum = weights_of({weights.begin(), middle});
    sum.add(weights_of({middle, weights.end()}));
    CHECK(sum.text() == text);
  }
  CHECK(weights_of({1, 0x1p-80, -1}).divided_by(1) == 0x1p-80);
  CHECK(weights_of({0.25, 0.5, 0.75}).divided_by(3) == 0.5);
}

TEST_CASE("texts of sums of weights are read back, and others refused") {
  for (const double weight : {0.0, 1.0, -0.375, 65536.0, 0x1p-80, 1e-9}) {
    const WeightSum sum = weights_of({weight});
    CHECK(WeightSum::from_text(sum.text()).text() == sum.text());
  }
  CHECK(weights_of({1}).text() == "100000000000000000000");
  CHECK(weights_of({-0x1p-80}).text() == "-1");
  for (const char* text : {"", "-", "1g", "+1", "00000000000000000000000000000000"}) {
    CHECK(error_from([&] { WeightSum::from_text(text); }, ErrorKind::input) ==
          "\"" + std::string(text) +
              "\" is not an exact sum\n"
              "  help:  the file was changed or is incomplete: start again without it");
  }
}

TEST_CASE("the first positions of a map come from its rows, in both precisions") {
  FirstPositions two(3, 2), all(2, 5);
  const std::vector<std::vector<double>> rows{{1, 0, 0}, {0.25, 0.75, 0}, {0.5, 0.125, 0.375}};
  for (const auto& row : rows) two.add(row.data());
  const std::vector<float> first{1, 0}, second{0.5, 0.5};
  all.add(first.data());
  all.add(second.data());
  CHECK(two.weights().shape() == Shape{2, 2});
  CHECK(std::ranges::equal(two.weights().values<double>(), std::vector<double>{1, 0, 0.25, 0.75}));
  CHECK(std::ranges::equal(all.weights().values<double>(), std::vector<double>{1, 0, 0.5, 0.5}));
  FirstPositions wrong(1, 1);
  const double none = std::nan("");
  wrong.add(&none);
  CHECK(error_from([&] { wrong.weights(); }, ErrorKind::input) ==
        "the weight nan has no place in a mean map\n"
        "  help:  leave the mean map out, or the text");
}

TEST_CASE("mean maps are over the texts that have both positions of a cell") {
  MapSums sums, others;
  sums.add(Tensor({1, 1}, std::vector<double>{1}));
  others.add(Tensor({2, 2}, std::vector<double>{0.5, 0.5, 0.25, 0.75}));
  sums.add(others);
  // There are as many positions as the longest text has.
  CHECK(sums.positions() == 2);
  const Tensor means = sums.means({2, 1});
  CHECK(means.shape() == Shape{2, 2});
  CHECK(std::ranges::equal(means.values<double>(), std::vector<double>{0.75, 0.5, 0.25, 0.75}));
  others.add(sums);
  CHECK(others.cells()[0].divided_by(1) == 2);
  CHECK(others.cells()[3].divided_by(1) == 1.5);
}

}  // namespace attn
