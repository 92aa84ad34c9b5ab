#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "attn/run.hpp"

namespace attn {

/// A hash of everything except the document that determines the bytes of a result: the program's
/// version, the instruction set unless it is the machine's best, and the options without folders,
/// numbers of threads and limits.
std::string options_hash(const RunOptions& options);

/// Hashes of files. Each file is read once while it stays unchanged. Several threads may call the
/// functions at once.
class FileHashes {
 public:
  /// Hash of a file whose content is `bytes`.
  std::string hash(const std::filesystem::path& path, std::span<const std::byte> bytes);
  /// Reads the file. Throws Error if it cannot or may not be read, or is no regular file, since a
  /// pipe might never give anything.
  std::string hash(const std::filesystem::path& path, const FileAccess& access);

 private:
  /// Device, inode, size, and seconds and nanoseconds of the last change.
  using Identity = std::tuple<unsigned long, unsigned long, long, long, long>;

  static std::optional<Identity> identity_of(const std::filesystem::path& path);
  std::optional<std::string> find(const std::optional<Identity>& identity);
  std::string keep(const std::optional<Identity>& identity, const std::filesystem::path& path,
                   std::span<const std::byte> bytes);

  std::mutex guard_;
  std::map<Identity, std::string> known_;
};

}  // namespace attn
