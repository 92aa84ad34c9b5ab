#include "io/json_number.hpp"

#include <charconv>
#include <system_error>

namespace attn {

template <class T>
T nearest_by_library(const JsonNumber& number) noexcept {
  T value = 0;
  if (std::from_chars(number.begin, number.end, value).ec == std::errc()) return value;
  // Out of range, on the side that the first digit but 0 tells.
  std::int64_t power =
      number.integer_digits + number.exponent + (number.digit_count - number.integer_digits);
  for (const char* at = number.begin; at < number.end && (*at < '1' || *at > '9'); ++at) {
    if (*at == '0') --power;
  }
  const bool small = power < 0;
  const T magnitude = small ? T{0} : std::numeric_limits<T>::infinity();
  return number.negative ? -magnitude : magnitude;
}

template float nearest_by_library<float>(const JsonNumber&) noexcept;
template double nearest_by_library<double>(const JsonNumber&) noexcept;

}  // namespace attn
