#pragma once

#include <string>

#include "attn/spec.hpp"

#include "io/json_value.hpp"

namespace attn {

/// 1024, or {"size": 1024, "reduction": "max"} (the mean if absent). Throws Error(input) at its
/// JSON pointer.
Pooling read_pooling(const JsonValue& value, const std::string& pointer);

}  // namespace attn
