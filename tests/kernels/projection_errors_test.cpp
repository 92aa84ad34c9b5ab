#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/every_target.hpp"
#include "kernels/row_functions.hpp"

namespace attn::kernels {
namespace {

std::vector<float> normal_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> numbers(count);
  for (float& number : numbers) number = distribution(random);
  return numbers;
}

}  // namespace

TEST_CASE("the bound of squares holds every finite row, and is exact beside others") {
  testing::on_every_target([] {
    for (const std::size_t width : {1, 5, 16, 64, 100}) {
      CAPTURE(width);
      constexpr std::size_t count = 21;
      std::vector<float> rows = normal_numbers(count * width, 1);
      double largest = 0;
      for (std::size_t i = 0; i < count; ++i) {
        double squares = 0;
        for (std::size_t k = 0; k < width; ++k) {
          squares += std::pow(static_cast<double>(rows[i * width + k]), 2);
        }
        largest = std::max(largest, squares);
      }
      const RowSquares all = row_squares(rows.data(), count, width);
      CHECK(all.finite);
      CHECK(all.largest >= largest * (1 - 1e-6));
      CHECK(all.largest <= 8 * largest);
      for (const float other : {INFINITY, std::nanf(""), 1e30F}) {
        std::vector<float> rest(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(width));
        rest.resize(3 * width, other);
        const RowSquares some = row_squares(rest.data(), 3, width);
        const RowSquares first = row_squares(rest.data(), 1, width);
        CHECK(!some.finite);
        CHECK(some.largest == first.largest);
      }
    }
  });
}

TEST_CASE("errors of products are measured to a factor of a few, whatever the sizes") {
  testing::on_every_target([] {
    for (const std::size_t width : {1, 3, 16, 37}) {
      for (const std::size_t outputs : {1, 8, 33}) {
        CAPTURE(width);
        CAPTURE(outputs);
        constexpr std::size_t count = 6;
        const std::vector<float> x = normal_numbers(count * width, 2);
        const std::vector<float> W = normal_numbers(outputs * width, 3);
        std::vector<float> signs = normal_numbers(error_probes * outputs, 4);
        for (float& sign : signs) sign = sign < 0 ? -1.0F : 1.0F;
        std::vector<double> mixed(error_probes * width);
        ErrorProbes probes{width, outputs, signs.data(), mixed.data(), {}};
        const std::size_t half = width / 2;
        mix_columns(W.data(), probes, 0, half);
        mix_columns(W.data(), probes, half, width - half);
        for (std::size_t i = 0; i < signs.size(); ++i) {
          probes.constant[i / outputs] += 0.5 * static_cast<double>(signs[i]);  // a bias of ½
        }
        // Row r of y has errors of 2⁻ʳ.
        std::vector<float> y(count * outputs);
        for (std::size_t i = 0; i < y.size(); ++i) {
          double sum = 0.5 + std::ldexp(i % 2 == 0 ? 1 : -1, -static_cast<int>(i / outputs));
          for (std::size_t k = 0; k < width; ++k) {
            sum += static_cast<double>(x[i / outputs * width + k]) *
                   static_cast<double>(W[i % outputs * width + k]);
          }
          y[i] = static_cast<float>(sum);
        }
        std::vector<double> errors(count);
        measure_errors(probes, x.data(), y.data(), count, errors.data());
        for (std::size_t r = 0; r < count; ++r) {
          const double length = std::ldexp(std::sqrt(static_cast<double>(outputs)), -int(r));
          CHECK(errors[r] > 0.2 * length);
          CHECK(errors[r] < 3 * length);
        }
        y[0] = INFINITY;
        measure_errors(probes, x.data(), y.data(), count, errors.data());
        CHECK(!std::isfinite(errors[0]));
        CHECK(std::isfinite(errors[1]));
      }
    }
  });
}

}  // namespace attn::kernels
