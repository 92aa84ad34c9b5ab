#pragma once

#include <string>

namespace attn {

/// The shortest text that reads back to the same number: "0.1", "3", "-1e+09", "inf", "nan".
std::string number_text(double number);

}  // namespace attn
