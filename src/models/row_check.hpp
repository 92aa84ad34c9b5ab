#pragma once

#include "io/json_value.hpp"

namespace attn {

/// Throws Error(input) at the first member of a row of one's own that no row has, or whose value is
/// of another type than it must be. null, which takes away what another row says, fits everywhere.
void check_row(const JsonValue& row);

}  // namespace attn
