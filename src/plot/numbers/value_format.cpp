#include <algorithm>
#include <charconv>
#include <cmath>

#include "attn/error.hpp"

#include "plot/numbers/matrix.hpp"
#include "plot/numbers/ticks.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn::plot {
namespace {

constexpr int most_digits = 12;  // that can be asked for
// Two colours of a map this far apart, in lengths of the range, are told apart
// at a glance.
constexpr double visible_step = 0.05;
constexpr int most_decimals = 4;              // of numbers that are written without an exponent
constexpr double largest_with_decimal = 100;  // below it there is one decimal at least
constexpr double largest_plain = 1e5;         // whole numbers from here on have an exponent

bool reads_as_zero(const std::string& text) {
  return text.find_first_of("123456789") == std::string::npos;
}

// "1e-05" as "1e-5".
std::string with_short_exponent(std::string text) {
  const std::size_t mark = text.find('e');
  if (mark == std::string::npos) return text;
  std::size_t digit = mark + 2;
  while (digit + 1 < text.size() && text[digit] == '0') text.erase(digit, 1);
  if (text[mark + 1] == '+') text.erase(mark + 1, 1);
  return text;
}

// "<.01" for two decimals.
std::string less_than_shown(double value, int decimals) {
  if (decimals == 0) return value < 0 ? ">-1" : "<1";
  return (value < 0 ? ">-." : "<.") + std::string(static_cast<std::size_t>(decimals) - 1, '0') +
         "1";
}

}  // namespace

std::string with_minus_signs(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '-') {
      result += "\u2212";
    } else {
      result += c;
    }
  }
  return result;
}

ValueFormat parse_value_format(const std::string& text) {
  const auto wrong = [&] {
    return Error(ErrorKind::usage, translated("unknown format of values \"{1}\"", text),
                 "AnnotationOptions::format",
                 translated("give a number of digits and f, g, e or %, such as .3f, .2g or .1%"));
  };
  ValueFormat format;
  const char* const first = text.data() + (text.starts_with('.') ? 1 : 0);
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(first, last, format.digits);
  if (first == text.data() || error != std::errc() || end + 1 != last || format.digits < 0 ||
      format.digits > most_digits) {
    throw wrong();
  }
  switch (*end) {
    case 'f':
      format.kind = ValueFormat::Kind::fixed;
      break;
    case 'g':
      format.kind = ValueFormat::Kind::significant;
      break;
    case 'e':
      format.kind = ValueFormat::Kind::scientific;
      break;
    case '%':
      format.kind = ValueFormat::Kind::percent;
      break;
    default:
      throw wrong();
  }
  return format;
}

ValueFormat fitting_format(std::span<const Matrix> matrices, Interval range, const ColorNorm& norm,
                           bool next_to_bar) {
  constexpr ValueFormat significant = {ValueFormat::Kind::significant, 2};
  bool whole = true;
  double largest = 0;
  for (const Matrix& matrix : matrices) {
    for (std::size_t i = 0; i < matrix.rows(); ++i) {
      for (std::size_t j = 0; j < matrix.columns(); ++j) {
        const double value = matrix.at(i, j);
        if (!std::isfinite(value) || !matrix.shown(i, j)) continue;
        whole = whole && value == std::floor(value);
        largest = std::max(largest, std::abs(value));
      }
    }
  }
  if (largest >= largest_plain) return significant;
  if (whole) return {ValueFormat::Kind::fixed, 0};
  if (!norm.is_linear()) return significant;
  const double step = visible_step * (range.high - range.low);
  const int decimals = static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  if (decimals > most_decimals) {
    constexpr int usual_intervals = 5;  // of a bar
    const int exponent = tick_texts(tick_values(range, usual_intervals), range).exponent;
    const int shown = decimals + exponent;
    if (!next_to_bar || exponent == 0 || shown > most_decimals) return significant;
    return {ValueFormat::Kind::fixed, std::max(shown, 0), true, exponent};
  }
  // Among tens, too, a third is not nothing.
  const int least = largest < largest_with_decimal ? 1 : 0;
  return {ValueFormat::Kind::fixed, std::max(decimals, least), true};
}

std::string value_text(double value, const ValueFormat& format) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (format.exponent != 0) value /= std::pow(10.0, format.exponent);
  std::string text;
  switch (format.kind) {
    case ValueFormat::Kind::fixed:
      text = with_decimals(value, format.digits);
      break;
    case ValueFormat::Kind::significant:
      text = with_short_exponent(with_digits(value, std::max(format.digits, 1)));
      break;
    case ValueFormat::Kind::scientific:
      text = with_short_exponent(with_exponent(value, format.digits));
      break;
    case ValueFormat::Kind::percent:
      text = with_decimals(100 * value, format.digits) + "%";
      break;
  }
  if (!reads_as_zero(text)) return text;
  if (format.marks_small && value != 0) return less_than_shown(value, format.digits);
  return text;
}

std::string short_number(double value) {
  return with_minus_signs(value_text(value, {ValueFormat::Kind::significant, 3}));
}

}  // namespace attn::plot
