#include "support/number_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "support/translated.hpp"

namespace attn {
namespace {

// std::to_chars alone would show the sign of a NaN.
template <class Number>
std::string shortest_text(Number number) {
  if (std::isnan(number)) return "nan";
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

std::string padded_with_zeros(std::string text, std::size_t length) {
  if (text.size() < length) text.insert(0, length - text.size(), '0');
  return text;
}

}  // namespace

std::string number_text(double number) {
  return shortest_text(number);
}

std::string float_text(float number) {
  return shortest_text(number);
}

std::string number_text(double number, std::chars_format format, int digits) {
  if (std::isnan(number)) return "nan";
  std::array<char, 400> text;  // the largest double has 309 digits before the point
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number, format, digits).ptr;
  return {text.data(), end};
}

std::string with_most_decimals(double number, int decimals) {
  std::string text = with_decimals(number, decimals);
  if (decimals > 0) text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string grouped(std::size_t number) {
  constexpr std::size_t least_digits = 5;
  std::string text = std::to_string(number);
  if (text.size() < least_digits) return text;
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, "\u202F");
  return text;
}

std::string with_short_exponent(std::string number) {
  const std::size_t e = number.find('e');
  if (e == std::string::npos || e + 1 == number.size()) return number;
  const std::size_t digits = e + (number[e + 1] == '-' || number[e + 1] == '+' ? 2 : 1);
  const std::size_t end = std::min(number.find_first_not_of('0', digits), number.size() - 1);
  number.erase(digits, end - digits);
  if (number[e + 1] == '+') number.erase(e + 1, 1);
  return number;
}

std::string with_zeros(std::size_t number, std::size_t digits) {
  return padded_with_zeros(std::to_string(number), digits);
}

std::string hexadecimal(std::uint64_t number, std::size_t digits) {
  std::array<char, 16> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number, 16).ptr;
  return padded_with_zeros({text.data(), end}, digits);
}

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 7> units{"", " kB", " MB", " GB", " TB", " PB", " EB"};
  // Three digits of more than this would round to 1 of the next unit.
  constexpr double next_unit = 999.5;
  std::size_t unit = 0;
  for (; bytes >= next_unit && unit + 1 < units.size(); ++unit) bytes /= 1000;
  const std::string number = with_digits(bytes, 3);
  return unit == 0 ? translated("{1} bytes", number) : number + units[unit];
}

namespace {

constexpr std::array<const char*, 5> suffixes{"", "k", "M", "G", "T"};

}  // namespace

std::string limit_text(double limit) {
  std::size_t suffix = 0;
  for (; limit > 0 && std::fmod(limit, 1000) == 0 && suffix + 1 < suffixes.size(); ++suffix) {
    limit /= 1000;
  }
  return number_text(limit) + suffixes[suffix];
}

std::string amount_text(double amount, double limit) {
  constexpr double most_in_full = 1e4, next_suffix = 999.5, most = 1e15;
  constexpr int least_digits = 3, most_digits = 17;
  if (amount < most_in_full) return number_text(amount);
  if (amount >= most) return with_short_exponent(with_digits(amount, least_digits));
  int digits = least_digits;
  while (digits < most_digits && with_digits(amount, digits) == with_digits(limit, digits)) {
    ++digits;
  }
  std::size_t suffix = 0;
  for (; amount >= next_suffix && suffix + 1 < suffixes.size(); ++suffix) amount /= 1000;
  return with_digits(amount, digits) + suffixes[suffix];
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8U | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? digits[group >> (18 - 6 * j) & 63U] : '=';
    }
  }
  return text;
}

}  // namespace attn
