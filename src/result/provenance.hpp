#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/file_access.hpp"

namespace attn {

/// Files by their names, path_text() or "standard input", each with its content_hash().
using FileHashList = std::vector<std::pair<std::string, std::string>>;

/// Origin of a result: program, instruction set and input files.
class Provenance {
 public:
  /// Hash of the file at a path, whose content are the bytes.
  using Hash =
      std::function<std::string(const std::filesystem::path&, std::span<const std::byte> bytes)>;

  Provenance();
  explicit Provenance(Hash hash) : hash_(std::move(hash)) {}

  /// Adds every file that is opened with this access from now on. The provenance must outlive the
  /// access.
  void watch(FileAccess& access);

  /// Adds one file, once. Several threads may call it at the same time.
  void add(const std::filesystem::path& path, std::span<const std::byte> bytes);
  /// Adds a file of that name whose hash is known.
  void add(std::string name, std::string hash);

  /// Version of the program, "0.1.0", and instruction set of the processor, "avx512".
  static std::string version();
  static std::string cpu_target();

  const FileHashList& inputs() const { return inputs_; }

  /// One line for a picture's metadata: "CPU target avx512; mine.json xxh128:0123…".
  std::string text() const;

 private:
  Hash hash_;
  std::mutex guard_;
  FileHashList inputs_;
};

}  // namespace attn
