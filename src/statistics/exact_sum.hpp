#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attn {

/// A sum of finite doubles that is never rounded, so that it is the same in any order and however
/// it is put together from sums of parts: a number of fixed point that holds every double, in
/// limbs of 32 bits whose carries wait (Kulisch 2002, chapter 8).
class ExactSum {
 public:
  void add(double number);
  /// Adds number², without rounding unless it is below 2^−1021.
  void add_square(double number);
  void add(const ExactSum& other);

  /// To about 18 digits.
  long double value() const;

  /// All of it: "0", or its sign, the place of its lowest limb, and its limbs, the highest first,
  /// in hexadecimal digits.
  std::string text() const;
  /// Throws Error(input) for what is no such text.
  static ExactSum from_text(std::string_view text);

 private:
  // 2^−1074 is the lowest bit; sums of 2^64 of the largest doubles find room.
  static constexpr std::size_t count = 68;
  static constexpr std::int32_t lowest_exponent = -1074;
  using Limbs = std::array<std::int64_t, count>;

  // Each but the highest from 0 to 2³²−1, with the sign of the sum in the highest.
  static void carry(Limbs& limbs);
  // The absolute value with its sign.
  static bool negated(Limbs& limbs);

  Limbs limbs_{};
  std::size_t waiting_ = 0;  // numbers that were added since carries were last taken on
};

}  // namespace attn
