#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/pickle.hpp"

namespace attn {

/// How pickles spell names, texts and bytes, beside the opcodes of PickleMachine.

/// The part that a name has in files of tensors, of a closed list; null for any other name.
const PickleName* find_pickle_name(std::string_view module, std::string_view name);

/// Whether a pickle that names this is made to start a program, which no file of tensors is.
bool starts_programs(std::string_view module, std::string_view name);

/// Text of Python's "raw-unicode-escape": Latin-1, with \uXXXX and \UXXXXXXXX. Absent if the line
/// is no such text.
std::optional<std::string> unescaped_unicode(std::string_view line);

/// Bytes that Python's repr() wrote: 'a\x00b'. Absent if it did not.
std::optional<std::string> unquoted(std::string_view line);

/// Bytes of a text whose characters are bytes. Absent if one is none.
std::optional<std::string> latin_1(std::string_view utf8);

/// An opcode for errors, with its name if it is one that is not read: "INST (0x69)".
std::string opcode_text(char opcode);

}  // namespace attn
