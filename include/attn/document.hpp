#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"
#include "attn/file_access.hpp"
#include "attn/named.hpp"
#include "attn/spec.hpp"

namespace attn {

/// What is wrong with one input document: each problem as run() would throw it, with its JSON
/// pointer.
struct Validation {
  std::string input;
  std::vector<Error> problems;  ///< empty = run() would compute it
};

/// Checks a document ("-" = standard input) without computing anything. Files that it names are
/// read. Does not throw for what is wrong with the document or its files: that is in the result.
Validation validate(const std::filesystem::path& path, const FileAccess& access = {});

/// For each document "INPUT: valid", or how many problems it has and all of them.
std::string validation_text(std::span<const Validation> validations);
/// A list of objects with "input" and "problems", a list of objects with "problem", "where" and
/// "help".
std::string validation_json(std::span<const Validation> validations);

/// {"error": {"problem": …, "where": …, "help": …, "exit_code": …}} on one line.
std::string error_json(const Error& error);

/// The JSON Schema (draft 2020-12) of input documents.
std::string document_schema();

/// A small complete document of that kind, ready to run.
std::string example_document(Kind kind);

/// Something that goes with a kind, such as rotary positions, with a small complete document.
struct ExampleTopic {
  std::string_view name, meaning, document;
};
std::span<const ExampleTopic> example_topics() noexcept;

/// One part of a mask, as users write it.
struct MaskPart {
  std::string_view name, meaning;
};
std::span<const MaskPart> mask_parts() noexcept;

/// The types that are computed in.
std::span<const Named<DType>> document_dtypes() noexcept;
/// What a cell of pooled weights is of those under it.
std::span<const Named<Pooling::Reduction>> pooling_reductions() noexcept;

/// What documents and flags can name: kinds, parts of masks, colour maps, file formats, CPU
/// targets.
std::string catalogue_text();
/// The same as one JSON object.
std::string catalogue_json();

}  // namespace attn
