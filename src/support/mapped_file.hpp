#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <sys/stat.h>

#include "attn/error.hpp"
#include "attn/file_access.hpp"

#include "support/file_opening.hpp"
#include "support/work_budget.hpp"

namespace attn {

/// Files that were opened for one piece of work. Other programs may shorten them meanwhile (see
/// cover_shortened_file()), and the work itself must not write over them. Several threads may use
/// it at once.
class MappedFiles {
 public:
  /// `outer` are the files of the work that this is a part of, if there is such work.
  explicit MappedFiles(std::shared_ptr<const MappedFiles> outer = nullptr);
  ~MappedFiles();

  /// Throws Error(file) naming the first file that was shortened: results made from it are invalid.
  void check() const;

  /// Name under which a file of the path was opened for this work or the outer one, by whatever
  /// name or link; nothing for other files.
  std::optional<std::string> input_at(const std::filesystem::path& path) const;

  /// Throws Error(usage) if a file of the path is one of these or of the outer ones, by whatever
  /// name or link.
  void refuse_output(const std::filesystem::path& path) const;

  /// Adds a file that will be opened, and those of other work that this work uses too.
  void add(const std::filesystem::path& path);
  void add(const MappedFiles& others);

 private:
  friend class MappedFile;
  struct Opened;
  std::shared_ptr<std::atomic<bool>> watch(std::string name);
  void add(const std::string& name, const struct stat& status);

  std::shared_ptr<const MappedFiles> outer_;
  std::unique_ptr<Opened> opened_;
};

/// Returns work(access), which has the time of Limits::seconds. If a file was shortened during it,
/// throws the Error(file) of MappedFiles::check() instead of an error that follows from the missing
/// bytes.
template <class Work>
auto with_whole_files(FileAccess access, const Work& work) {
  access.mapped = std::make_shared<MappedFiles>(access.mapped);
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

/// Bytes of a file: memory-mapped if it is a regular file, read into memory if it is a pipe or
/// standard input. Throws as open_file() does, and Error(input) for a file larger than Limits.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> open(const FileName& file,
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
