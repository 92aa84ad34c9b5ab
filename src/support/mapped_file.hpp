#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/file_access.hpp"

namespace attn {

/// The files that were mapped for one piece of work, and whether another program shortened one
/// meanwhile (cover_shortened_file). Several threads may use it at once.
class MappedFiles {
 public:
  /// Throws Error(file) naming the first file that was shortened. What was made from its bytes is
  /// worth nothing.
  void check() const;

 private:
  friend class MappedFile;
  std::shared_ptr<std::atomic<bool>> add(std::string name);

  mutable std::mutex guard_;
  std::vector<std::pair<std::string, std::shared_ptr<std::atomic<bool>>>> files_;
};

/// The value of work(access), in which a file that is shortened while it is read is the error,
/// whatever follows from its bytes.
template <class Work>
auto with_whole_files(FileAccess access, const Work& work) {
  access.mapped = std::make_shared<MappedFiles>();
  try {
    auto result = work(std::as_const(access));
    access.mapped->check();
    return result;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::internal) access.mapped->check();
    throw;
  }
}

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

  /// Whether its bytes stay where it is: a pipe's do not.
  bool can_be_read_again() const noexcept { return mapped_; }

 private:
  class Watch;
  struct Free {
    void operator()(std::byte* block) const noexcept;
  };

  MappedFile();
  void map(int descriptor, std::size_t size, const std::string& name, MappedFiles* files);
  void read_all(int descriptor, const std::string& name, std::uint64_t most);

  std::span<const std::byte> bytes_;
  std::unique_ptr<std::byte, Free> read_;  // the bytes of what cannot be mapped
  bool mapped_ = false;
  std::unique_ptr<Watch> watch_;
};

}  // namespace attn
