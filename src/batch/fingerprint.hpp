#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
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
  /// `bytes` are those of the file, if they are at hand. Throws Error(file) if it cannot be read.
  std::string hash(const std::filesystem::path& path, std::span<const std::byte> bytes);
  std::string hash(const std::filesystem::path& path);

 private:
  /// Device, number on it, size, and seconds and nanoseconds of the last change.
  using Identity = std::tuple<unsigned long, unsigned long, long, long, long>;

  template <class Read>
  std::string find_or(const std::filesystem::path& path, const Read& read);

  std::mutex guard_;
  std::map<Identity, std::string> known_;
};

}  // namespace attn
