#include "kernels/layer_norm.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/every_target.hpp"

namespace attn::kernels {
namespace {

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
double largest_error(std::size_t width, bool sum, bool scaled, bool centred) {
  constexpr std::size_t rows = 3;
  const auto x = random_numbers<T>(rows * width, 1), change = random_numbers<T>(rows * width, 2);
  const auto weight = random_numbers<double>(width, 3), bias = random_numbers<double>(width, 4);
  constexpr double eps = 1e-5;
  std::vector<T> y(rows * width);
  normalise_rows(
      RowNorm<T>{x.data(), sum ? change.data() : nullptr, scaled ? weight.data() : nullptr,
                 scaled ? bias.data() : nullptr, width, eps, centred, y.data()},
      rows);
  double largest = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto at = [&](std::size_t i) -> long double {
      const std::size_t place = row * width + i;
      return sum ? static_cast<T>(x[place] + change[place]) : x[place];
    };
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
      for (const bool sum : {false, true}) {
        for (const bool scaled : {false, true}) {
          for (const bool centred : {false, true}) {
            // Normed numbers are at most √70 and weights about 6, so that results stay below 64,
            // where half a unit of floats is 2⁻¹⁹. In double precision the mean, about 6, is wrong
            // by some 2⁻⁵⁰, which a row of equal numbers divides by √eps.
            CHECK(largest_error<float>(width, sum, scaled, centred) <= 0x1p-18);
            CHECK(largest_error<double>(width, sum, scaled, centred) <= 0x1p-38);
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace attn::kernels
