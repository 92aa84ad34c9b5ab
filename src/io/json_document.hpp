#pragma once

#include <string_view>

#include "io/json_value.hpp"

namespace attn {

/// Parses a text as parse_json() does, but syntax errors quote words of it: for what the user
/// wrote. Other files, which a document names, may be secret.
JsonValue parse_json_document(std::string_view text, const JsonOptions& options = {});

/// Throws Error(input) for a text that is no JSON (RFC 8259) at its first mistake, with line and
/// column from 1, in characters, and with a correction for usual mistakes. A zero byte is reported
/// before all other mistakes. Words of the text are quoted only if `quotes`.
[[noreturn]] void throw_json_syntax_error(std::string_view text, bool quotes);

}  // namespace attn
