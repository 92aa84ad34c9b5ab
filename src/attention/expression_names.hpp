#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attn {

/// The help for a name that expressions of other libraries have: their indices, modules and masks;
/// empty for another name.
std::string help_for_foreign_name(std::string_view name);
/// Likewise for a function.
std::string help_for_foreign_function(std::string_view name);
/// The help where an operator or a value is expected at `at` and the text goes on as it would in
/// Python or on paper: "s if j < i else 0", "j in [0, 1]", "s * 0,5", "|i - j|"; empty for others.
std::string help_for_foreign_syntax(std::string_view text, std::size_t at);

}  // namespace attn
