#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"
#include "attn/file_access.hpp"
#include "attn/spec.hpp"

namespace attn {

/// What is wrong with one input document: each problem as run() would throw it, with its JSON
/// pointer.
struct Validation {
  std::string input;
  std::vector<Error> problems;  ///< empty = run() would compute it
};

/// Checks a document ("-" = standard input) without computing anything. Files that it names are
/// read.
Validation validate(const std::filesystem::path& path, const FileAccess& access = {});

std::string validation_text(std::span<const Validation> validations);
std::string validation_json(std::span<const Validation> validations);

/// The JSON Schema (draft 2020-12) of input documents.
std::string document_schema();

/// A small complete document of that kind, ready to run.
std::string example_document(Kind kind);

/// One part of a mask, as users write it.
struct MaskPart {
  std::string_view name, meaning;
};
std::span<const MaskPart> mask_parts() noexcept;

/// What documents and flags can name: kinds, parts of masks, colour maps, file formats.
std::string catalogue_text();
std::string catalogue_json();

}  // namespace attn
