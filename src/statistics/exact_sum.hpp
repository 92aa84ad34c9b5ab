#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attn {

/// The exact sum of finite doubles, equal in any order and however it is assembled from partial
/// sums: a fixed-point number wide enough for every double, in limbs of 32 bits with delayed
/// carries (Kulisch 2002, chapter 8).
class ExactSum {
 public:
  void add(double number);
  /// Adds number², exactly unless it is below 2^−1021.
  void add_square(double number);
  void add(const ExactSum& other);

  /// The sum to about 18 digits.
  long double value() const;

  /// The exact sum as text: "0", or the sign, the index of the lowest limb, ":", and the limbs from
  /// the highest down in hexadecimal digits.
  std::string text() const;
  /// The sum of a text() of it. Throws Error(input) for any other text.
  static ExactSum from_text(std::string_view text);

 private:
  // The lowest bit is 2^−1074; 2^64 of the largest doubles fit.
  static constexpr std::size_t count = 68;
  static constexpr std::int32_t lowest_exponent = -1074;
  using Limbs = std::array<std::int64_t, count>;

  // Brings all limbs but the highest into 0…2³²−1; the highest keeps the sign of the sum.
  static void carry(Limbs& limbs);
  // Turns the limbs into those of the absolute value. Returns whether the sum was negative.
  static bool negated(Limbs& limbs);

  Limbs limbs_{};
  std::size_t waiting_ = 0;  // numbers added since the last carry
};

}  // namespace attn
