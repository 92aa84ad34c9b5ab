#pragma once

#include <string_view>

namespace attn {

/// Whether an error's place is a field of the options that a function was given, such as
/// "MapSelection::keys", and not a place in a file.
constexpr bool names_option(std::string_view where) {
  const std::size_t end = where.find("::");
  if (end == std::string_view::npos || end == 0 || where[0] < 'A' || where[0] > 'Z') return false;
  for (const char c : where.substr(0, end)) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
  }
  return true;
}

}  // namespace attn
