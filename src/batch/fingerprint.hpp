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

/// The hash of everything but the document that the bytes of a result depend on: the program's
/// version, the instruction set if another one than the best was chosen, and the options without
/// places, numbers of threads and limits.
std::string options_hash(const RunOptions& options);

/// Hashes of files, each read once as long as it stays as it is. Several threads may ask at once.
class FileHashes {
 public:
  /// `bytes` are those of the file.
  std::string hash(const std::filesystem::path& path, std::span<const std::byte> bytes);
  /// Reads the file. Throws Error if it cannot or may not be read, or is no regular file: what a
  /// pipe would give is not to be waited for.
  std::string hash(const std::filesystem::path& path, const FileAccess& access);

 private:
  /// Device, number on it, size, and seconds and nanoseconds of the last change.
  using Identity = std::tuple<unsigned long, unsigned long, long, long, long>;

  static std::optional<Identity> identity_of(const std::filesystem::path& path);
  std::optional<std::string> find(const std::optional<Identity>& identity);
  std::string keep(const std::optional<Identity>& identity, const std::filesystem::path& path,
                   std::span<const std::byte> bytes);

  std::mutex guard_;
  std::map<Identity, std::string> known_;
};

}  // namespace attn
