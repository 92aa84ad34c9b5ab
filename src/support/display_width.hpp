#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attn {

/// Columns that UTF-8 text takes in a terminal: 2 for wide characters (Chinese…), 0 for combining
/// ones.
std::size_t display_width(std::string_view text);

/// The text with spaces before or after it up to `width` columns.
std::string padded_left(std::string_view text, std::size_t width);
std::string padded_right(std::string_view text, std::size_t width);

/// The text, shortened in the middle by an ellipsis if it takes more than `width` columns.
std::string shortened(std::string_view text, std::size_t width);

}  // namespace attn
