#pragma once

#include <string>
#include <string_view>

namespace attn {

/// The text as valid UTF-8 on one line with nothing in it that a terminal obeys or that no text may
/// hold: control characters, changes of direction, noncharacters and bytes that are no UTF-8 become
/// escapes such as \n, \x07, \u202e, \uffff or \xff.
std::string printable(std::string_view text);

}  // namespace attn
