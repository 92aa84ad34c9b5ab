#pragma once

#include <string>

namespace attn {

/// The shortest text that reads back to the same number: "0.1", "3", "-1e+09", "inf", "nan".
std::string number_text(double number);

/// The number as printf writes it in a format with one conversion, such as "%.3g", or with a
/// precision before it, such as "%.*f"; NaN is "nan" without a sign.
std::string formatted(const char* format, double number);
std::string formatted(const char* format, int precision, double number);

}  // namespace attn
