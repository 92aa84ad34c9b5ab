#pragma once

#include <filesystem>
#include <vector>

#include "attn/file_access.hpp"

#include "io/gguf.hpp"

namespace attn {

/// A later part of a GGUF file in parts.
struct GgufPart {
  std::filesystem::path path;
  Gguf file;
};

/// Opens the later parts of a GGUF file by the name of the first ("-00001-of-00003.gguf"); none if
/// the file is whole. Throws Error(file) or Error(input) that names the file: for a part in the
/// place of the first, a name that does not say which part it is, and parts that are missing,
/// belong to another file by their own keys ("split.no"…), or hold a tensor that is in a part
/// before.
std::vector<GgufPart> later_gguf_parts(const std::filesystem::path& path, const Gguf& first,
                                       const FileAccess& access);

/// Throws Error(input) if the file is one of several parts: what is read from memory has no others.
void refuse_gguf_part(const Gguf& file);

}  // namespace attn
