#pragma once

#include <string_view>

#include "io/json_value.hpp"

namespace attn {

/// Parses a text as parse_json() does, but syntax errors quote words of it: for what the user wrote
/// himself. Other files, which a document names, may be somebody's secret.
JsonValue parse_json_document(std::string_view text, const JsonOptions& options = {});

}  // namespace attn
