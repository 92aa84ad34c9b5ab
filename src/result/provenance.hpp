#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "attn/file_access.hpp"

namespace attn {

/// Which program made a result, with which instruction set, from which files.
class Provenance {
 public:
  struct Input {
    std::string name;  ///< as it was opened; "standard input"
    std::string hash;  ///< XXH3 of 128 bits in hexadecimal, as `xxh128sum` prints it
  };

  /// Takes in every file that is opened with this access from now on. The provenance must outlive
  /// it.
  void watch(FileAccess& access);

  /// Takes in one file; a second time changes nothing. Several threads may call it at once.
  void add(const std::filesystem::path& path, std::span<const std::byte> bytes);

  /// "0.1.0" and "avx512".
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
