#pragma once

#include <string>
#include <string_view>

namespace attn {

/// The text in double quotes, for messages: control characters, which would act on a terminal, and
/// bytes that are not UTF-8 as \xNN.
std::string in_quotes(std::string_view text);

}  // namespace attn
