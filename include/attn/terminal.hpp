#pragma once

#include <string>
#include <string_view>

namespace attn {

/// Lines of text that are safe to show in a terminal: control characters other than ends of lines,
/// changes of direction, noncharacters and bytes that are not UTF-8 become escapes such as \x1b,
/// \u202e or \xff. For reports, whose names may come from anywhere.
std::string terminal_lines(std::string_view text);

}  // namespace attn
