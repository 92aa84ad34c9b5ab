#include "kernels/row_functions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/every_target.hpp"

namespace attn::kernels {
namespace {

double exact(Curve curve, double constant, double x) {
  switch (curve) {
    case Curve::relu:
      return std::max(0.0, x);
    case Curve::relu_squared:
      return std::max(0.0, x) * std::max(0.0, x);
    case Curve::gelu:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case Curve::gelu_by_tanh:
      return 0.5 * x * (1 + std::tanh(constant * (x + 0.044715 * x * x * x)));
    case Curve::sigmoid:
      break;
  }
  return x / (1 + std::exp(-constant * x));
}

// 1e-7·|x| of the function, and 3 units in the last place of its value.
double bound(double x, double y) {
  return 1e-7 * std::abs(x) + 3 * 0x1p-24 * std::abs(y) + 1e-37;
}

TEST_CASE("activations follow their formulas on every target, whatever the number of numbers") {
  std::vector<float> x;
  for (int i = -1000; i <= 1000; ++i) x.push_back(static_cast<float>(i) * 0.0137F);
  x.insert(x.end(), {-1e30F, -100, -88.5F, 1e-20F, -1e-20F, 100, 1e30F});
  const struct {
    Curve curve;
    float constant;
  } curves[]{{Curve::relu, 0},    {Curve::relu_squared, 0},
             {Curve::gelu, 0},    {Curve::gelu_by_tanh, 0.79788456F},
             {Curve::sigmoid, 1}, {Curve::sigmoid, 1.702F}};
  testing::on_every_target([&] {
    for (const auto& [curve, constant] : curves) {
      for (std::size_t count : {x.size(), std::size_t{1}, std::size_t{19}}) {
        std::vector<float> y(count), gated(count), up(count, -2.0F);
        activate(curve, constant, x.data(), nullptr, count, y.data());
        activate(curve, constant, x.data(), up.data(), count, gated.data());
        for (std::size_t i = 0; i < count; ++i) {
          CAPTURE(x[i]);
          const double want = exact(curve, constant, x[i]);
          if (want > std::numeric_limits<float>::max()) {
            REQUIRE(std::isinf(y[i]));
            continue;
          }
          REQUIRE(std::abs(y[i] - want) <= bound(x[i], want));
          REQUIRE(gated[i] == -2 * y[i]);
        }
      }
    }
  });
}

TEST_CASE("activations pass NaN on") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  testing::on_every_target([&] {
    for (const Curve curve :
         {Curve::relu_squared, Curve::gelu, Curve::gelu_by_tanh, Curve::sigmoid}) {
      float y = 0;
      activate(curve, 1, &nan, nullptr, 1, &y);
      CHECK(std::isnan(y));
    }
  });
}

TEST_CASE("sums of rows of any length are those of plain loops, in both types") {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> draw(0, 1);
  for (std::size_t count = 1; count < 40; ++count) {
    std::vector<float> row;
    for (std::size_t j = 0; j < count; ++j) row.push_back(j % 3 == 1 ? 0 : draw(random));
    const std::vector<double> wide(row.begin(), row.end());
    RowSums expected;
    for (std::size_t j = 0; j < count; ++j) {
      const double a = wide[j];
      expected.sum += a;
      if (a > 0) expected.entropy -= a * std::log(a);
      expected.distance += a * std::abs(static_cast<double>(j) - 3);
      expected.largest = std::max(expected.largest, a);
      expected.positive += a > 0 ? 1 : 0;
    }
    for (const RowSums& sums : {row_sums(row.data(), count, 3), row_sums(wide.data(), count, 3)}) {
      CHECK(sums.sum == doctest::Approx(expected.sum).epsilon(1e-14));
      CHECK(sums.entropy == doctest::Approx(expected.entropy).epsilon(1e-13));
      CHECK(sums.distance == doctest::Approx(expected.distance).epsilon(1e-14));
      CHECK(sums.largest == expected.largest);
      CHECK(sums.positive == expected.positive);
    }
  }
}

template <class T>
std::vector<T> random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<T> distribution(3, 1);
  std::vector<T> numbers(count);
  for (T& number : numbers) number = distribution(random);
  return numbers;
}

// The largest error of three normed rows beside the definition in long double.
template <class T>
double largest_error(std::size_t width, bool scaled, bool centred) {
  constexpr std::size_t rows = 3;
  const auto x = random_numbers<T>(rows * width, 1);
  const auto weight = random_numbers<double>(width, 3), bias = random_numbers<double>(width, 4);
  constexpr double eps = 1e-5;
  std::vector<T> y(rows * width);
  normalise_rows(
      x.data(), rows, width,
      RowNorm{scaled ? weight.data() : nullptr, scaled ? bias.data() : nullptr, eps, centred},
      y.data());
  double largest = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto at = [&](std::size_t i) -> long double { return x[row * width + i]; };
    long double mean = 0, squares = 0;
    for (std::size_t i = 0; centred && i < width; ++i) mean += at(i) / width;
    for (std::size_t i = 0; i < width; ++i) squares += (at(i) - mean) * (at(i) - mean) / width;
    for (std::size_t i = 0; i < width; ++i) {
      long double want = (at(i) - mean) / std::sqrt(squares + eps);
      if (scaled) want = want * weight[i] + bias[i];
      const auto error = static_cast<double>(std::abs(want - y[row * width + i]));
      largest = std::isnan(error) ? HUGE_VAL : std::max(largest, error);
    }
  }
  return largest;
}

TEST_CASE("norms of rows of any width are those of the definition, in both types") {
  testing::on_every_target([] {
    for (std::size_t width = 1; width <= 70; ++width) {
      CAPTURE(width);
      for (const bool scaled : {false, true}) {
        for (const bool centred : {false, true}) {
          // Normed numbers are at most √70 and weights about 6, so that results stay below 64,
          // where half a unit of floats is 2⁻¹⁹. In double precision the mean, about 3, is wrong
          // by some 2⁻⁵¹, which a row of equal numbers divides by √eps.
          CHECK(largest_error<float>(width, scaled, centred) <= 0x1p-18);
          CHECK(largest_error<double>(width, scaled, centred) <= 0x1p-38);
        }
      }
    }
  });
}

}  // namespace
}  // namespace attn::kernels
