#pragma once

#include <string_view>

namespace attn {

/// What to write in the place of a key that other libraries have and documents call otherwise, for
/// the help of an error; empty for all others.
std::string_view instead_of_foreign_key(std::string_view key) noexcept;

}  // namespace attn
