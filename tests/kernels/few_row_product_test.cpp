#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/every_target.hpp"
#include "kernels/matrix_product.hpp"
#include "tensor/half_number.hpp"

namespace kernels = attn::kernels;
using attn::testing::on_every_target;
using kernels::StoredNumber;

namespace {

/// Numbers as they are stored, and their values.
struct Stored {
  std::vector<std::byte> bytes;
  std::vector<double> values;
  std::size_t size = 0;
};

Stored random_stored(StoredNumber type, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  Stored all;
  const auto add = [&]<class Bits>(Bits bits, double value) {
    const auto* const from = reinterpret_cast<const std::byte*>(&bits);
    all.bytes.insert(all.bytes.end(), from, from + sizeof(Bits));
    all.values.push_back(value);
    all.size = sizeof(Bits);
  };
  for (std::size_t i = 0; i < count; ++i) {
    const float number = i % 31 == 7 ? 3e-6F * distribution(random) : distribution(random);
    if (type == StoredNumber::float32) add(number, number);
    if (type == StoredNumber::float64) add(static_cast<double>(number), number);
    if (type == StoredNumber::bfloat16) {
      const std::uint16_t bits = attn::half_bits(number, attn::DType::bfloat16);
      add(bits, attn::bfloat16_number(bits));
    }
    if (type == StoredNumber::float16) {
      const std::uint16_t bits = attn::half_bits(number, attn::DType::float16);
      add(bits, attn::float16_number(bits));
    }
  }
  return all;
}

struct FewRowSizes {
  std::size_t rows, width, count;
};

// The largest error of a sum as a part of what is allowed: each product and each addition rounds
// once, by at most half a unit of what the terms' sizes add up to.
template <class T>
double largest_few_row_error(StoredNumber type, const FewRowSizes& sizes, bool side_by_side,
                             bool with_bias) {
  const auto [rows, width, count] = sizes;
  const Stored w = random_stored(type, count * width, 2);
  std::mt19937 random(1);
  std::normal_distribution<T> distribution;
  std::vector<T> x(rows * width), bias(count), y(rows * count, std::numeric_limits<T>::quiet_NaN());
  for (T& number : x) number = distribution(random);
  for (T& number : bias) number = distribution(random);
  const kernels::FewRowProduct<T> product{
      x.data(), rows, width, type, count, with_bias ? bias.data() : nullptr, y.data(), count};
  if constexpr (sizeof(T) == sizeof(float)) {
    if (side_by_side) kernels::multiply_few_columns(product, w.bytes.data(), count * w.size);
  }
  if (!side_by_side) {
    std::vector<const std::byte*> places;
    for (std::size_t j = 0; j < count; ++j) places.push_back(w.bytes.data() + j * width * w.size);
    kernels::multiply_few_rows(product, places.data());
  }
  const double unit = sizeof(T) == sizeof(float) ? 0x1p-24 : 0x1p-53;
  double worst = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      double sum = with_bias ? bias[j] : 0, sizes_of_terms = std::abs(sum);
      for (std::size_t k = 0; k < width; ++k) {
        const double term =
            x[i * width + k] * w.values[side_by_side ? k * count + j : j * width + k];
        sum += term;
        sizes_of_terms += std::abs(term);
      }
      const double allowed = static_cast<double>(width + 8) * unit * sizes_of_terms + 1e-300;
      const double error = std::abs(y[i * count + j] - sum) / allowed;
      worst = std::isfinite(error) ? std::max(worst, error) : INFINITY;
    }
  }
  return worst;
}

TEST_CASE("products of few rows are those of the stored numbers, whatever the sizes") {
  on_every_target([] {
    for (const StoredNumber type :
         {StoredNumber::float32, StoredNumber::bfloat16, StoredNumber::float16}) {
      CAPTURE(static_cast<int>(type));
      for (std::size_t rows = 1; rows <= kernels::few_product_rows; ++rows) {
        // Every remainder of four vectors of 16 numbers.
        for (std::size_t width = 1; width <= 130; width += width < 70 ? 1 : 13) {
          const FewRowSizes sizes{rows, width, 5};
          REQUIRE(largest_few_row_error<float>(type, sizes, false, width % 2 == 0) <= 1);
        }
        for (std::size_t count = 1; count <= 70; ++count) {
          const FewRowSizes sizes{rows, 1 + count % 9, count};
          REQUIRE(largest_few_row_error<float>(type, sizes, true, count % 2 == 0) <= 1);
        }
      }
    }
    for (std::size_t width = 1; width <= 70; ++width) {
      REQUIRE(largest_few_row_error<double>(StoredNumber::float64, {2, width, 3}, false, true) <=
              1);
    }
  });
}

TEST_CASE("infinity and NaN of float16 are those of floats in products of few rows") {
  on_every_target([] {
    constexpr std::size_t width = 37;
    const std::vector<float> x(width, 1.0F);
    for (const std::uint16_t special :
         std::initializer_list<std::uint16_t>{0x7C00, 0xFC00, 0x7E00, 0xFE01}) {
      for (std::size_t place = 0; place < width; ++place) {
        std::vector<std::uint16_t> w(width, 0x3C00);  // ones
        w[place] = special;
        const auto* const row = reinterpret_cast<const std::byte*>(w.data());
        float y = 0;
        kernels::multiply_few_rows(
            kernels::FewRowProduct<float>{x.data(), 1, width, StoredNumber::float16, 1, nullptr, &y,
                                          1},
            &row);
        const float number = attn::float16_number(special);
        CAPTURE(special);
        CHECK((std::isnan(number) ? std::isnan(y) : y == number));
      }
    }
  });
}

TEST_CASE("a product of few rows does not depend on the other rows and columns") {
  on_every_target([] {
    const std::size_t width = 77, count = 6;
    const Stored w = random_stored(StoredNumber::float16, count * width, 4);
    std::vector<float> x(3 * width);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
    std::vector<const std::byte*> places;
    for (std::size_t j = 0; j < count; ++j) places.push_back(w.bytes.data() + j * width * w.size);
    std::vector<float> all(3 * count), one(1);
    kernels::multiply_few_rows(
        kernels::FewRowProduct<float>{x.data(), 3, width, StoredNumber::float16, count, nullptr,
                                      all.data(), count},
        places.data());
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        kernels::multiply_few_rows(
            kernels::FewRowProduct<float>{x.data() + i * width, 1, width, StoredNumber::float16, 1,
                                          nullptr, one.data(), 1},
            places.data() + j);
        CHECK(one[0] == all[i * count + j]);
      }
    }
  });
}

}  // namespace
