#include "tensor/byte_numbers.hpp"

#include <cmath>
#include <limits>

namespace attn {
namespace {

std::array<float, 256> table(int digits, int bias, bool infinities) {
  std::array<float, 256> numbers{};
  const int exponents = 7 - digits, last = (1 << exponents) - 1, ones = (1 << digits) - 1;
  for (int byte = 0; byte < 256; ++byte) {
    const int exponent = byte >> digits & last, fraction = byte & ones;
    // Subnormal numbers have the step of the first normal ones.
    float number = exponent == 0 ? std::ldexp(static_cast<float>(fraction), 1 - bias - digits)
                                 : std::ldexp(static_cast<float>(fraction + ones + 1),
                                              exponent - bias - digits);
    if (exponent == last && infinities) {
      number = fraction == 0 ? std::numeric_limits<float>::infinity()
                             : std::numeric_limits<float>::quiet_NaN();
    } else if (exponent == last && fraction == ones) {
      number = std::numeric_limits<float>::quiet_NaN();
    }
    numbers[static_cast<std::size_t>(byte)] = byte < 128 ? number : -number;
  }
  return numbers;
}

}  // namespace

const std::array<float, 256>& byte_numbers(ByteNumber type) noexcept {
  static const std::array<float, 256> e4m3 = table(3, 7, false), e5m2 = table(2, 15, true);
  return type == ByteNumber::e4m3 ? e4m3 : e5m2;
}

}  // namespace attn
