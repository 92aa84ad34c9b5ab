#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/file_access.hpp"

#include "io/json_value.hpp"
#include "support/mapped_file.hpp"

namespace attn {

/// An input document as parsed, with what the command line puts in its place.
class Document {
 public:
  /// Reads and parses a file ("-" = standard input), which may stand anywhere; `access` rules its
  /// size, its nesting and the files that it names. Throws Error(file) or Error(input).
  static Document open(const std::filesystem::path& path, const FileAccess& access = {},
                       const JsonOptions& options = {.dtype = DType::float32});
  /// The same of a file that is open already.
  static Document open(const std::shared_ptr<const MappedFile>& file,
                       const std::filesystem::path& path, const FileAccess& access,
                       const JsonOptions& options);
  static Document parse(std::string_view text, std::string name, std::filesystem::path folder,
                        const FileAccess& access = {},
                        const JsonOptions& options = {.dtype = DType::float32});

  /// Replaces (or adds) a top-level member, or the member `inner` of a top-level object. Errors
  /// there name the field that gave it.
  void override_with(std::string_view key, JsonValue value, std::string field);
  void override_inside(std::string_view key, std::string_view inner, JsonValue value,
                       std::string field);

  /// The error with its JSON pointer put into words a user can follow: "doc.json, /query/1", or the
  /// field that gave the value. An error that names a field already stays as it is.
  Error placed(const Error& error) const;

  const JsonValue& root() const noexcept { return root_; }
  const std::filesystem::path& folder() const noexcept { return folder_; }
  const std::string& name() const noexcept { return name_; }
  const FileAccess& access() const noexcept { return access_; }

 private:
  JsonValue root_;
  std::string name_;
  std::filesystem::path folder_;
  FileAccess access_;
  std::vector<std::pair<std::string, std::string>> fields_;  ///< JSON pointer → field
};

}  // namespace attn
