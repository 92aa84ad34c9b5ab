#include "tensor/half_number.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

namespace attn {
namespace {

TEST_CASE("every number of a 16-bit type is read and written bit for bit") {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float brain = bfloat16_number(bits), half = float16_number(bits);
    if (!std::isnan(brain)) {
      REQUIRE(half_bits(static_cast<double>(brain), DType::bfloat16) == bits);
    }
    if (!std::isnan(half)) {
      REQUIRE(half_bits(static_cast<double>(half), DType::float16) == bits);
    }
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(bfloat16_number(half_bits(nan, DType::bfloat16))));
  CHECK(std::isnan(float16_number(half_bits(nan, DType::float16))));
}

TEST_CASE("numbers are rounded to the nearest, halves to even, and beyond the range to infinity") {
  // bfloat16 has 8 digits: steps of 2⁻⁷ from 1 to 2.
  CHECK(nearest_half(1 + 0x1p-8, DType::bfloat16) == 1);
  CHECK(nearest_half(1 + 0x1p-8 + 0x1p-40, DType::bfloat16) == 1 + 0x1p-7);
  CHECK(nearest_half(1 + 0x3p-8, DType::bfloat16) == 1 + 0x1p-6);
  CHECK(nearest_half(-0.3, DType::bfloat16) == -0.30078125);
  CHECK(nearest_half(0x1.FFp127, DType::bfloat16) == HUGE_VAL);
  CHECK(nearest_half(0x1.FEFp127, DType::bfloat16) == 0x1.FEp127);
  CHECK(nearest_half(0x1p-133, DType::bfloat16) == 0x1p-133);
  CHECK(nearest_half(0x1p-135, DType::bfloat16) == 0);
  // float16 has 11 digits and whole steps of 2⁻²⁴ below 2⁻¹⁴.
  CHECK(nearest_half(0.1, DType::float16) == 0.0999755859375);
  CHECK(nearest_half(65519, DType::float16) == 65504);
  CHECK(nearest_half(-65520, DType::float16) == -HUGE_VAL);
  CHECK(nearest_half(0x3p-26, DType::float16) == 0x1p-24);
  CHECK(nearest_half(0x1p-25, DType::float16) == 0);
}

TEST_CASE("floats become narrow as fast as their bits allow, and as exactly") {
  // Numbers of every exponent about the middle of two narrow ones, and as they come.
  std::uint32_t state = 1;
  for (std::uint32_t i = 0; i < 400000; ++i) {
    state = state * 1664525U + 1013904223U;
    std::uint32_t bits = state;
    if (i % 4 == 0) bits = (bits & 0xFFFF0000U) | 0x8000U;
    if (i % 4 == 1) bits = (bits & 0xFFFFE000U) | 0x1000U;
    if (i % 4 == 2) bits = (bits & 0x87FFFFFFU) | 0x30000000U;  // about the least of float16
    const float x = std::bit_cast<float>(bits);
    const auto exact = static_cast<double>(x);
    REQUIRE(bfloat16_bits(x) == half_bits(exact, DType::bfloat16));
    REQUIRE(float16_bits(x) == half_bits(exact, DType::float16));
  }
}

TEST_CASE("a tensor of a 16-bit type keeps its numbers through other types") {
  const Tensor numbers({2, 2}, std::vector<double>{0.1, -3.5, 1e30, 0});
  const Tensor brain = numbers.converted(DType::bfloat16);
  CHECK(brain.dtype() == DType::bfloat16);
  CHECK(size_of(brain.dtype()) == 2);
  const auto values = brain.converted(DType::float64);
  CHECK(values.values<double>()[0] == 0.10009765625);
  CHECK(values.values<double>()[1] == -3.5);
  const Tensor half = brain.converted(DType::float16).converted(DType::float32);
  CHECK(half.values<float>()[0] == 0.10009765625F);
  CHECK(half.values<float>()[2] == std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace attn
