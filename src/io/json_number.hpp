#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace attn {

static_assert(std::endian::native == std::endian::little, "the first character is the lowest byte");

/// Eight characters from `at` on, zeros in place of those beyond the end.
inline std::uint64_t eight_characters(const char* at, const char* end) noexcept {
  std::uint64_t word = 0;
  if (end - at >= 8) {
    std::memcpy(&word, at, 8);
  } else {
    std::memcpy(&word, at, static_cast<std::size_t>(end - at));
  }
  return word;
}

/// How many of the eight characters are digits, from the first on.
inline unsigned leading_digits(std::uint64_t word) noexcept {
  constexpr std::uint64_t upper = 0xF0F0F0F0F0F0F0F0, to_next = 0x0606060606060606;
  // Of '0' … '9' alone both the character and the character + 6 are 0x3_.
  const std::uint64_t others =
      ((word & upper) | (((word + to_next) & upper) >> 4)) ^ 0x3333333333333333;
  return static_cast<unsigned>(std::countr_zero(others)) / 8;
}

/// The number that the first `count` of the characters are, all of them digits.
inline std::uint64_t value_of_digits(std::uint64_t word, unsigned count) noexcept {
  if (count == 0) return 0;
  // Moved to the end, with zeros before them; then neighbours, pairs and fours are joined.
  word = (word & 0x0F0F0F0F0F0F0F0F) << (64 - 8 * count);
  word = word * 10 + (word >> 8);
  constexpr std::uint64_t pairs = 0x000000FF000000FF;
  return ((word & pairs) * 0x000F424000000064 + ((word >> 16) & pairs) * 0x0000271000000001) >> 32;
}

/// A number of a JSON text (RFC 8259, section 6) taken apart: ± digits · 10^exponent.
struct JsonNumber {
  const char *begin, *end;
  std::uint64_t digits;  ///< right if there are no more than 19
  std::int64_t exponent;
  std::ptrdiff_t digit_count, integer_digits;  ///< integer: before the point
  bool negative, integral;                     ///< integral: without point and exponent
};

/// Takes the number at `at` apart; its `end` is null if there is none. With `closed` the last
/// character of the text is known to be in no number, as a bracket is.
template <bool closed = false>
inline JsonNumber json_number(const char* at, const char* text_end) noexcept {
  constexpr std::array<std::uint64_t, 9> powers = {1,      10,      100,      1000,     10000,
                                                   100000, 1000000, 10000000, 100000000};
  JsonNumber number{};
  number.begin = at;
  const auto character = [&] { return closed || at < text_end ? *at : '\0'; };
  const auto is_digit = [](char c) { return static_cast<unsigned>(c - '0') < 10; };

  number.negative = character() == '-';
  at += number.negative ? 1 : 0;
  // 1. One digit most times: one by one.
  const char* const integer = at;
  while (is_digit(character())) {
    number.digits = number.digits * 10 + static_cast<unsigned>(*at - '0');
    ++at;
  }
  number.integer_digits = at - integer;
  number.digit_count = number.integer_digits;
  if (at == integer || (*integer == '0' && number.integer_digits > 1)) return number;
  number.integral = true;
  // 2. Many digits most times: eight at once.
  if (character() == '.') {
    const char* const fraction = ++at;
    unsigned count = 8;
    while (count == 8) {
      const std::uint64_t word = eight_characters(at, text_end);
      count = leading_digits(word);
      number.digits = number.digits * powers[count] + value_of_digits(word, count);
      at += count;
    }
    if (at == fraction) return number;
    number.digit_count += at - fraction;
    number.exponent = fraction - at;
    number.integral = false;
  }
  // 3. The exponent; beyond a million it makes no difference.
  if ((character() | 0x20) == 'e') {
    ++at;
    const bool below = character() == '-';
    if (below || character() == '+') ++at;
    if (!is_digit(character())) return number;
    std::int64_t exponent = 0;
    for (; is_digit(character()); ++at) {
      if (exponent < 1000000) exponent = exponent * 10 + (*at - '0');
    }
    number.exponent += below ? -exponent : exponent;
    number.integral = false;
  }
  number.end = at;
  return number;
}

/// nearest() for the numbers that take more than a few operations.
template <class T>
T nearest_by_library(const JsonNumber& number) noexcept;
extern template float nearest_by_library<float>(const JsonNumber&) noexcept;
extern template double nearest_by_library<double>(const JsonNumber&) noexcept;

/// The nearest float or double, ties to even. What is too small becomes a zero, what is too large
/// an infinity. "-0" is 0, as an integer has no sign of zero; "-0.0" is −0.
template <class T>
inline T nearest(const JsonNumber& number) noexcept {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  constexpr std::array<double, 23> powers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                             1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                             1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr std::ptrdiff_t whole_digits = 19;
  constexpr std::uint64_t exact_integers = std::uint64_t{1} << 53;
  constexpr auto last = static_cast<std::int64_t>(powers.size()) - 1;
  if (number.digit_count <= whole_digits && number.digits <= exact_integers &&
      number.exponent >= -last && number.exponent <= last) {
    // Both factors are exact, so there is one rounding (Clinger 1990).
    const auto digits = static_cast<double>(number.digits);
    const double value = number.exponent < 0
                             ? digits / powers[static_cast<std::size_t>(-number.exponent)]
                             : digits * powers[static_cast<std::size_t>(number.exponent)];
    if (value == 0) return number.negative && !number.integral ? T{-0.0} : T{0};
    if constexpr (std::is_same_v<T, double>) return number.negative ? -value : value;
    // A second rounding, to float, is the right one unless the first ended just half-way between
    // two floats: else the number lies on the same side of that half as the double.
    constexpr std::uint64_t below_float = (std::uint64_t{1} << 29) - 1, half = 1U << 28U;
    const bool half_way = (std::bit_cast<std::uint64_t>(value) & below_float) == half;
    if (!half_way && value >= std::numeric_limits<float>::min() &&
        value <= std::numeric_limits<float>::max()) {
      return static_cast<T>(number.negative ? -value : value);
    }
  }
  return nearest_by_library<T>(number);
}

}  // namespace attn
