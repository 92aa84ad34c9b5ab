#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "attn/tensor.hpp"

namespace attn {

/// True for the 16-bit types, halves of a float32 in size: bfloat16, the upper half of a float32,
/// and float16, IEEE 754's binary16.
constexpr bool is_half(DType dtype) noexcept {
  return dtype == DType::bfloat16 || dtype == DType::float16;
}

/// Type in which numbers of a dtype are read and computed: float32 for the 16-bit types, else the
/// dtype itself.
constexpr DType widened(DType dtype) noexcept {
  return is_half(dtype) ? DType::float32 : dtype;
}

/// Number of a 16-bit type nearest to x, halves to even; infinity beyond the type's range.
inline double nearest_half(double x, DType dtype) {
  const bool brain = dtype == DType::bfloat16;
  const int digits = brain ? 8 : 11, least_exponent = brain ? -126 : -14;
  const double largest = brain ? 0x1.FEp127 : 65504.0;
  if (!std::isfinite(x) || x == 0) return x;
  int exponent = 0;
  std::frexp(x, &exponent);  // x is in [2^(exponent − 1), 2^exponent)
  const int step = std::max(exponent - 1, least_exponent) - (digits - 1);
  const double nearest = std::ldexp(std::nearbyint(std::ldexp(x, -step)), step);
  return std::abs(nearest) > largest ? std::copysign(HUGE_VAL, x) : nearest;
}

/// Bits of the number of a 16-bit type nearest to x.
inline std::uint16_t half_bits(double x, DType dtype) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(nearest_half(x, dtype)));
  if (dtype == DType::bfloat16) {
    // A NaN keeps a digit.
    return static_cast<std::uint16_t>(std::isnan(x) ? bits >> 16U | 0x40U : bits >> 16U);
  }
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  if (std::isnan(x)) return static_cast<std::uint16_t>(sign | 0x7E00U);
  if (std::isinf(static_cast<float>(nearest_half(x, dtype)))) {
    return static_cast<std::uint16_t>(sign | 0x7C00U);
  }
  const int exponent = static_cast<int>(bits >> 23U & 0xFFU) - 127;
  if (exponent >= -14) {
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(exponent + 15) << 10U |
                                      (bits >> 13U & 0x3FFU));
  }
  const auto steps = static_cast<std::uint32_t>(std::abs(nearest_half(x, dtype)) * 0x1p24);
  return static_cast<std::uint16_t>(sign | steps);
}

/// Bits of the bfloat16 or float16 nearest to a float, without branches, so that compilers turn
/// loops over them into vector code.
inline std::uint16_t bfloat16_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t nearest = (bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U;
  const bool nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  return static_cast<std::uint16_t>(nan ? bits >> 16U | 0x40U : nearest);
}
inline std::uint16_t float16_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t size = bits & 0x7FFFFFFFU, sign = bits >> 16U & 0x8000U;
  // From 2⁻¹⁴ on exponents move by 112; below, steps are of 2⁻²⁴, those of floats from ½ on.
  const std::uint32_t normal = (size + 0xFFFU + (size >> 13U & 1U) - (112U << 23U)) >> 13U;
  const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) -
                              std::bit_cast<std::uint32_t>(0.5F);
  std::uint32_t result = size < std::bit_cast<std::uint32_t>(0x1p-14F) ? small : normal;
  if (size >= std::bit_cast<std::uint32_t>(65520.0F)) result = 0x7C00U;
  if (size > 0x7F800000U) result = 0x7E00U;
  return static_cast<std::uint16_t>(sign | result);
}

inline float bfloat16_number(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

inline float float16_number(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
  const std::uint32_t exponent = bits >> 10U & 0x1FU, fraction = bits & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t widened_exponent = exponent == 0x1F ? 0xFF : exponent + (127 - 15);
  return std::bit_cast<float>(sign | widened_exponent << 23U | fraction << 13U);
}

}  // namespace attn
