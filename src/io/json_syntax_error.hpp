#pragma once

#include <string_view>

namespace attn {

/// Throws Error(input) for a text that a parser refused: where it first is no JSON (RFC 8259), in
/// plain words, with line and column (both from 1; a column is a character, not a byte) and, where
/// the slip is a usual one, what to write instead. A zero byte, which no JSON text holds, comes
/// before all else.
[[noreturn]] void throw_json_syntax_error(std::string_view text);

}  // namespace attn
