#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/file_access.hpp"

#include "io/json_value.hpp"

struct XXH3_state_s;

namespace attn {

/// Hash of bytes: XXH3 of 128 bits as 32 hexadecimal digits, as `xxh128sum` prints it.
std::string content_hash(std::span<const std::byte> bytes);

/// The hash of bytes that come in pieces.
class ContentHash {
 public:
  ContentHash();
  void add(std::string_view piece);
  /// content_hash() of all pieces so far.
  std::string text() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const noexcept;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

/// Text of result.json while the other files of the result are being replaced.
extern const std::string_view unfinished_result;

/// The files that a result was written with, from a member of its result.json: those beside it,
/// from "files", or the picture in the folder above, from "comparison". Copies share which files
/// were checked.
class ResultFiles {
 public:
  ResultFiles() = default;  ///< of a file that is not a result, or names no files

  /// Throws Error(input) if the result is unfinished, as unfinished_result says, or at the JSON
  /// pointer of a member that is malformed.
  explicit ResultFiles(const JsonValue& result, std::string_view member = "files");

  /// Names of the files, in alphabetical order.
  std::vector<std::string> names() const;

  /// Access by which a file with this name, opened at `path`, is checked: MappedFile::open() throws
  /// Error(input) for one of another size or hash. Files are read once for it, not each time that
  /// they are opened.
  FileAccess checked(FileAccess access, const std::string& name,
                     const std::filesystem::path& path) const;

 private:
  struct Known;
  std::shared_ptr<Known> known_;
};

}  // namespace attn
