#pragma once

#include <string>
#include <string_view>

namespace attn {

/// A path as UTF-8, which JSON can hold: bytes that are none stand as \xff. Different paths have
/// different texts, as a backslash that begins such an escape already stands as \x5c.
std::string path_text(std::string_view path);

/// The path whose text it is.
std::string path_of_text(std::string_view text);

}  // namespace attn
