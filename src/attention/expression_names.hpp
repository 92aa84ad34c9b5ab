#pragma once

#include <string>
#include <string_view>

namespace attn {

/// The help for a name that expressions of other libraries have: their indices, modules and masks;
/// empty for another name.
std::string help_for_foreign_name(std::string_view name);
/// Likewise for a function.
std::string help_for_foreign_function(std::string_view name);

}  // namespace attn
