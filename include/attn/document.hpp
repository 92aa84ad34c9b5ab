#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"
#include "attn/spec.hpp"

namespace attn {

/// Everything that is wrong with an input document ("-" = standard input), found without computing
/// anything: each problem as run() would throw it, with its JSON pointer. Empty = run() would
/// compute it. Files that the document names are read.
std::vector<Error> validate(const std::filesystem::path& path);

/// The JSON Schema (draft 2020-12) of input documents.
std::string document_schema();

/// A small complete document of that kind, ready to run.
std::string example_document(Kind kind);

/// One part of a mask, as users write it.
struct MaskPart {
  std::string_view name, meaning;
};
std::span<const MaskPart> mask_parts() noexcept;

}  // namespace attn
