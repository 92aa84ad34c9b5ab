#include "kernels/row_program.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/every_target.hpp"

namespace {

using namespace attn::kernels;

struct Division {
  double a, b, quotient, remainder;
};

// What Python's floats give, by print_python_division.py.
std::vector<Division> python_divisions() {
  std::ifstream file(std::string(ATTN_TEST_DATA) + "/kernels/python_division.txt");
  std::vector<Division> all;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::array<double, 4> numbers{};
    for (double& number : numbers) {
      std::string word;
      words >> word;
      number = std::strtod(word.c_str(), nullptr);
    }
    all.push_back({numbers[0], numbers[1], numbers[2], numbers[3]});
  }
  return all;
}

// NaN is equal to NaN, and a zero to one of its sign alone.
bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

void check_same(const Division& division, double quotient, double remainder) {
  CAPTURE(division.a);
  CAPTURE(division.b);
  CHECK_MESSAGE(same(quotient, division.quotient), quotient << " instead of " << division.quotient);
  CHECK_MESSAGE(same(remainder, division.remainder),
                remainder << " instead of " << division.remainder);
}

// The operation over numbers a and b that vary by key.
std::vector<double> computed(RowOperation operation, const std::vector<Division>& divisions) {
  using Numbers = std::array<double, row_piece>;
  std::vector<double> results;
  for (std::size_t first = 0; first < divisions.size(); first += row_piece) {
    const std::size_t count = std::min(row_piece, divisions.size() - first);
    Numbers a{}, b{}, result{};
    for (std::size_t n = 0; n < count; ++n) {
      a[n] = divisions[first + n].a;
      b[n] = divisions[first + n].b;
    }
    const std::array<double*, 3> numbers{a.data(), b.data(), result.data()};
    const std::array<std::uint8_t, 3> varies{RowRegisters::by_key, RowRegisters::by_key,
                                             RowRegisters::by_key};
    const RowStep step{.operation = operation, .to = 2, .of = {0, 1}};
    run_steps({&step, 1}, {numbers.data(), varies.data()}, {first, count});
    results.insert(results.end(), result.begin(), result.begin() + static_cast<int>(count));
  }
  return results;
}

}  // namespace

TEST_CASE("// and % give Python's bits for every pair of its table, on every target") {
  const std::vector<Division> divisions = python_divisions();
  REQUIRE(divisions.size() > 2000);
  for (const Division& division : divisions) {
    check_same(division, floor_quotient(division.a, division.b),
               floor_remainder(division.a, division.b));
  }
  attn::testing::on_every_target([&] {
    const std::vector<double> quotients = computed(RowOperation::floor_over, divisions);
    const std::vector<double> remainders = computed(RowOperation::remainder, divisions);
    for (std::size_t n = 0; n < divisions.size(); ++n) {
      check_same(divisions[n], quotients[n], remainders[n]);
    }
  });
}

TEST_CASE("whole numbers are divided to the same bits by one rounded quotient") {
  std::vector<Division> whole;
  for (const Division& division : python_divisions()) {
    const auto fits = [](double x) { return x == std::floor(x) && std::abs(x) < 0x1p53; };
    if (fits(division.a) && fits(division.b)) whole.push_back(division);
  }
  REQUIRE(whole.size() > 100);
  attn::testing::on_every_target([&] {
    const std::vector<double> quotients = computed(RowOperation::floor_over_whole, whole);
    for (std::size_t n = 0; n < whole.size(); ++n) {
      check_same(whole[n], quotients[n], whole[n].remainder);
    }
  });
}

TEST_CASE("a division by 0, which Python refuses, is that of IEEE 754 and its remainder NaN") {
  constexpr double infinity = HUGE_VAL;
  const std::vector<Division> by_zero{{1, 0.0, infinity, NAN},        {1, -0.0, -infinity, NAN},
                                      {-1, 0.0, -infinity, NAN},      {0.0, 0.0, NAN, NAN},
                                      {infinity, 0.0, infinity, NAN}, {NAN, 0.0, NAN, NAN}};
  attn::testing::on_every_target([&] {
    const std::vector<double> quotients = computed(RowOperation::floor_over, by_zero);
    const std::vector<double> remainders = computed(RowOperation::remainder, by_zero);
    for (std::size_t n = 0; n < by_zero.size(); ++n) {
      check_same(by_zero[n], quotients[n], remainders[n]);
      check_same(by_zero[n], floor_quotient(by_zero[n].a, by_zero[n].b),
                 floor_remainder(by_zero[n].a, by_zero[n].b));
    }
  });
}
