#pragma once

#include <string>
#include <string_view>

namespace attn {

/// The characters of UTF-8 text. Throws Error(input) naming the first byte that is no UTF-8
/// (surrogates and overlong forms included), at `where`.
std::u32string characters_of(std::string_view utf8, std::string_view where);

}  // namespace attn
