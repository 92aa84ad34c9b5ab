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
  } curves[]{{Curve::relu, 0},
             {Curve::gelu, 0},
             {Curve::gelu_by_tanh, 0.79788456F},
             {Curve::sigmoid, 1},
             {Curve::sigmoid, 1.702F}};
  testing::on_every_target([&] {
    for (const auto& [curve, constant] : curves) {
      for (std::size_t count : {x.size(), std::size_t{1}, std::size_t{19}}) {
        std::vector<float> y(count), gated(count), up(count, -2.0F);
        activate(curve, constant, x.data(), nullptr, count, y.data());
        activate(curve, constant, x.data(), up.data(), count, gated.data());
        for (std::size_t i = 0; i < count; ++i) {
          CAPTURE(x[i]);
          const double want = exact(curve, constant, x[i]);
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
    for (const Curve curve : {Curve::gelu, Curve::gelu_by_tanh, Curve::sigmoid}) {
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

}  // namespace
}  // namespace attn::kernels
