#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "attn/file_access.hpp"

namespace attn {

/// Origin of a result: program, instruction set and input files.
class Provenance {
 public:
  struct Input {
    std::string name;  ///< path as it was opened; "standard input"
    std::string hash;  ///< content_hash() of the file
  };

  /// Adds every file that is opened with this access from now on. The provenance must outlive the
  /// access.
  void watch(FileAccess& access);

  /// Adds one file, once. Several threads may call it at the same time.
  void add(const std::filesystem::path& path, std::span<const std::byte> bytes);

  /// Version of the program, "0.1.0", and instruction set of the processor, "avx512".
  static std::string version();
  static std::string cpu_target();

  const std::vector<Input>& inputs() const { return inputs_; }

  /// One line for a picture's metadata: "CPU target avx512; mine.json xxh128:0123…".
  std::string text() const;

 private:
  std::mutex guard_;
  std::vector<Input> inputs_;
};

}  // namespace attn
