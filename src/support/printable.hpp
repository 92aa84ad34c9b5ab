#pragma once

#include <string>
#include <string_view>

namespace attn {

/// Text as one line of valid UTF-8 that is safe to show in a terminal: control characters, changes
/// of direction, noncharacters and bytes that are not UTF-8 become escapes such as \n, \x07,
/// \u202e, \uffff or \xff.
std::string printable(std::string_view text);

/// Printable text of a name or a value that a message repeats: at most 200 characters, the last one
/// an ellipsis if there were more.
std::string shown_name(std::string_view name);

/// shown_name() in double quotes.
std::string in_quotes(std::string_view text);

/// Text of a path as valid UTF-8 for JSON, with other bytes as escapes such as \xff. A backslash
/// that would begin such an escape becomes \x5c, so that different paths have different texts.
std::string path_text(std::string_view path);

/// Path of a text that path_text() made.
std::string path_of_text(std::string_view text);

}  // namespace attn
