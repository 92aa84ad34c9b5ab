#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/every_target.hpp"
#include "kernels/row_functions.hpp"

namespace attn::testing {
namespace {

constexpr std::size_t keys = kernels::form_keys;

template <class T>
void check_forms(std::size_t heads, std::size_t width) {
  CAPTURE(heads);
  CAPTURE(width);
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  const std::size_t padded = kernels::padded_width(width), stride = 11;
  std::vector<double> products(heads * (heads + 1) / 2 * keys);
  std::vector<std::vector<double>> all;
  for (std::size_t k = 0; k < keys; ++k) {
    std::vector<double>& vectors = all.emplace_back(heads * padded);
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t i = 0; i < width; ++i) vectors[h * padded + i] = normal(random);
    }
    kernels::pair_products(vectors.data(), heads, padded, products.data() + k);
  }
  std::vector<T> weights(heads * stride);
  for (T& weight : weights) weight = static_cast<T>(std::abs(normal(random)));
  std::size_t at = 0;
  for (std::size_t g = 0; g < heads; ++g) {
    for (std::size_t h = 0; h <= g; ++h, at += keys) {
      for (std::size_t k = 0; k < keys && h < g; ++k) products[at + k] *= 2;
    }
  }
  std::array<double, keys> sums{};
  std::vector<double> scratch(heads * keys);
  REQUIRE(kernels::quadratic_forms(kernels::QuadraticForms<T>{
      weights.data(), stride, heads, products.data(), sums.data(), scratch.data()}));
  for (std::size_t k = 0; k < keys; ++k) {
    double square = 0;
    for (std::size_t i = 0; i < width; ++i) {
      double sum = 0;
      for (std::size_t h = 0; h < heads; ++h) {
        sum += static_cast<double>(weights[h * stride + k]) * all[k][h * padded + i];
      }
      square += sum * sum;
    }
    CHECK(sums[k] == doctest::Approx(square).epsilon(1e-12));
  }
}

}  // namespace

TEST_CASE("squares of weighted sums of terms come from the terms' products with one another") {
  on_every_target([] {
    for (const std::size_t heads : {1, 2, 3, 4, 5, 12}) {
      for (const std::size_t width : {1, 7, 8, 65}) {
        check_forms<float>(heads, width);
        check_forms<double>(heads, width);
      }
    }
  });
}

TEST_CASE("keys without any weight have no sums of terms") {
  on_every_target([] {
    const std::vector<float> weights(2 * keys);
    const std::vector<double> products(3 * keys, 1);
    std::vector<double> scratch(2 * keys), sums(keys, 5);
    CHECK_FALSE(kernels::quadratic_forms(kernels::QuadraticForms<float>{
        weights.data(), keys, 2, products.data(), sums.data(), scratch.data()}));
    CHECK(sums == std::vector<double>(keys, 5));
  });
}

}  // namespace attn::testing
