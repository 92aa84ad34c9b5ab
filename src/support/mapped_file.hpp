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

#include <unistd.h>

#include "attn/error.hpp"
#include "attn/file_access.hpp"

#include "support/work_budget.hpp"

namespace attn {

/// File descriptor that is closed at the end of its lifetime if it is owned; below 0 = none.
class Descriptor {
 public:
  explicit Descriptor(int number, bool owned = true) : number_(number), owned_(owned) {}
  ~Descriptor() {
    if (owned_ && number_ >= 0) close(number_);
  }
  Descriptor(Descriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)), owned_(other.owned_) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    std::swap(owned_, other.owned_);
    return *this;
  }

  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
  bool owned_;
};

/// Help for an error number of the system when a file is read or written; empty for rare ones.
enum class FileUse { read, write };
std::string help_for_file(int reason, FileUse use);

/// Files that were mapped for one piece of work, which may be shortened meanwhile by other programs
/// (see cover_shortened_file()). Several threads may use it at once.
class MappedFiles {
 public:
  /// Throws Error(file) naming the first file that was shortened: results made from it are invalid.
  void check() const;

 private:
  friend class MappedFile;
  std::shared_ptr<std::atomic<bool>> add(std::string name);

  mutable std::mutex guard_;
  std::vector<std::pair<std::string, std::shared_ptr<std::atomic<bool>>>> files_;
};

/// Returns work(access), which has the time of Limits::seconds. If a file was shortened during it,
/// throws the Error(file) of MappedFiles::check() instead of an error that follows from the missing
/// bytes.
template <class Work>
auto with_whole_files(FileAccess access, const Work& work) {
  access.mapped = std::make_shared<MappedFiles>();
  WorkBudget budget(access.limits.seconds);
  const BudgetScope scope(&budget);
  try {
    auto result = work(std::as_const(access));
    access.mapped->check();
    return result;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::internal) access.mapped->check();
    throw;
  }
}

/// Bytes of a file: memory-mapped if it is a regular file, read into memory if it is a pipe or "-",
/// standard input. Throws Error(file) with the path and the system's reason, also for a folder, and
/// Error(input) for a file larger than Limits or outside FileAccess::restrict_to.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path,
                                                const FileAccess& access = {});
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  std::string_view text() const noexcept;

  /// False for pipes, whose bytes can be read once only.
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
  std::unique_ptr<std::byte, Free> read_;  // bytes of a file that cannot be mapped
  bool mapped_ = false;
  std::unique_ptr<Watch> watch_;
};

}  // namespace attn
