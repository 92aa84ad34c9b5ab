#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace attn {

/// Numbers as text, whatever the locale. A NaN is "nan" whatever its sign, infinities are "inf" and
/// "-inf".

/// The shortest text that is read back as the same number: "0.1", "1e+20", "-0".
std::string number_text(double number);
std::string float_text(float number);

/// A number of digits as std::to_chars and printf have it.
std::string number_text(double number, std::chars_format format, int digits);

/// Decimals behind the point, as "%.*f" of printf: with_decimals(2.5, 2) is "2.50".
inline std::string with_decimals(double number, int decimals) {
  return number_text(number, std::chars_format::fixed, decimals);
}
/// Significant digits without zeros at the end and, where that is shorter, with an exponent, as
/// "%.*g" of printf: with_digits(0.25, 3) is "0.25", with_digits(123456, 3) is "1.23e+05".
inline std::string with_digits(double number, int digits) {
  return number_text(number, std::chars_format::general, digits);
}
/// A power of ten behind one digit and decimals, as "%.*e" of printf: "1.50e-07".
inline std::string with_exponent(double number, int decimals) {
  return number_text(number, std::chars_format::scientific, decimals);
}

/// A finite number rounded to at most that many decimals, without zeros at the end: "2.5", "3", and
/// "0" for what rounds to zero.
std::string with_most_decimals(double number, int decimals);

/// Digits in groups of three between narrow spaces, from five digits on: "124 439 808", "2048".
std::string grouped(std::size_t number);

/// A power of ten as documents write it: "-1e9" of "-1e+09", "1e-7" of "1e-07".
std::string with_short_exponent(std::string number);

/// A number of at least `digits` digits: "000042".
std::string with_zeros(std::size_t number, std::size_t digits);

/// Whether the whole text is one number of that type, which `number` is then.
template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

/// At least `digits` lower-case hexadecimal digits: "00ff".
std::string hexadecimal(std::uint64_t number, std::size_t digits);

/// Three digits of a size in bytes: "999 bytes", "1.5 kB", "16.8 GB"; units are powers of 1000.
std::string bytes_text(double bytes);

/// A limit as flags take it: "10M", "1G", "239", "1500k".
std::string limit_text(double limit);
/// An amount beyond that limit, in three digits, or as many as tell both apart: "12M", "1.28G",
/// "1.000001M", "1.6e19"; numbers below 10000 in full.
std::string amount_text(double amount, double limit);

/// Bytes as base64 (RFC 4648, section 4).
std::string base64(std::string_view bytes);

}  // namespace attn
