#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "attn/document.hpp"
#include "attn/file_access.hpp"

namespace attn {

/// A checkpoint folder, and a file with a row that describes its model in the place of a known one.
struct CheckpointFolder {
  std::filesystem::path path;
  std::optional<std::filesystem::path> architecture;
  FileAccess files;
};

/// What was found in it: family, layers, heads, widths, positions, norm, activation, mask,
/// tokenizer, parameters, and what plays no part. Throws Error as run() does for what is missing,
/// malformed or not supported.
std::string model_text(const CheckpointFolder& folder);
/// The same as one JSON object.
std::string model_json(const CheckpointFolder& folder);

/// The row of the table of families that the model is computed by, with all that it takes over, as
/// JSON that CheckpointFolder::architecture and a document's "architecture" take.
std::string model_row(const CheckpointFolder& folder);

/// What of it run() would stumble over, whatever the model is to read. Does not throw.
Validation validate_model(const CheckpointFolder& folder);

}  // namespace attn
