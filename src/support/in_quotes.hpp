#pragma once

#include <string>
#include <string_view>

namespace attn {

/// The printable text in double quotes, for messages.
std::string in_quotes(std::string_view text);

}  // namespace attn
