#pragma once

#include <cstddef>
#include <string_view>

#include "attn/error.hpp"

namespace attn {

/// The parser's complaint about `text` in plain words, with line and column (both from 1; a column
/// is a character, not a byte) and, where the slip is a usual one, what to write instead.
/// `bytes_read` counts the bytes up to and including the last one the parser looked at,
/// `last_token` is what it read last, `complaint` is its message.
Error json_syntax_error(std::string_view text, std::size_t bytes_read, std::string_view last_token,
                        std::string_view complaint);

/// The error for a zero byte at `offset`, which no JSON text holds.
Error json_zero_byte_error(std::string_view text, std::size_t offset);

}  // namespace attn
