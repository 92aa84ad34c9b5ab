#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/file_access.hpp"

namespace attn {

/// A file's bytes, memory-mapped where the file can be (a regular file), read otherwise (a pipe,
/// "-" for standard input). Throws Error(file) that names the path and the system's reason; a
/// folder is no file. Throws Error(input) for a file that is larger than it may be, or outside the
/// folder it may be in.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path,
                                                const FileAccess& access = {});
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  std::string_view text() const noexcept;

 private:
  MappedFile() = default;
  void read_all(int descriptor, const std::string& name, std::uint64_t most);

  std::span<const std::byte> bytes_;
  std::vector<std::byte> read_;  // the bytes of what cannot be mapped
  bool mapped_ = false;
};

}  // namespace attn
