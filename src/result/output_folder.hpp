#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/written_file.hpp"

#include "io/hashed_files.hpp"
#include "support/atomic_file.hpp"
#include "support/output_lock.hpp"

namespace attn {

/// Makes the folder of the results with those above it, if they are missing, and removes what
/// killed programs left in it. Throws Error(file) at RunOptions::out.
[[nodiscard]] NewFolders make_output_folder(const std::filesystem::path& folder);

/// Waits until no other run writes into the folder, which the caller made, and locks it. Adds it to
/// `made` if it has to be made again. Throws Error(file), also after minutes of waiting.
[[nodiscard]] OutputLock lock_folder(const std::filesystem::path& folder, NewFolders& made);

/// The place of a file or folder with that name below the folder of the results; "/" is between the
/// names of folders. What is written gets its place here. Throws Error(input) for a name that is
/// empty, absolute, ends in "/", holds a zero byte or, as a part of it, ".." or ".".
std::filesystem::path place_below(const std::filesystem::path& folder, std::string_view name);

/// Makes place_below() as a folder, with those above it. Throws Error(file) if one of them is a
/// symbolic link, which somebody may have put there to have files written elsewhere.
[[nodiscard]] NewFolders make_folder_below(const std::filesystem::path& folder,
                                           std::string_view name);

/// What the result in a folder leaves to the one that replaces it.
struct LeftOver {
  /// Those that it was written with, unchanged since, and that the new one does not have.
  std::vector<std::filesystem::path> files;
  std::string document;  ///< that it says it is of; empty = it does not say
};

/// `written` are the files of the new result. Nothing is left over if there is no older one.
LeftOver left_over(const std::filesystem::path& folder, const std::vector<WrittenFile>& written);

/// Pictures that compared the results of several kinds, each of which has a folder in this one, as
/// these say; unchanged since, and not at the path `written`.
std::vector<std::filesystem::path> comparisons_left_over(const std::filesystem::path& folder,
                                                         const std::filesystem::path& written);

/// File of a result, of which the result says size and hash.
class HashedFile {
 public:
  explicit HashedFile(std::filesystem::path path) : path_(std::move(path)), file_(path_) {}

  void write(std::string_view piece);
  AtomicFile& file() noexcept { return file_; }
  /// The file as it is written so far.
  WrittenFile written() const { return {path_, bytes_, hash_.text()}; }

 private:
  std::filesystem::path path_;
  AtomicFile file_;
  ContentHash hash_;
  std::uint64_t bytes_ = 0;
};

/// Files on their way into a folder, such as those of one result. All are written first, without
/// names; an older result stays whole until then. While they get their names, result.json is one
/// that is unfinished, and it is the last that gets its own. From the first that is written to the
/// last name the folder is locked, so that runs replace its files one after another.
class ResultFolder {
 public:
  /// `sync` waits for the disk.
  ResultFolder(std::filesystem::path folder, bool sync) : folder_(std::move(folder)), sync_(sync) {}

  const std::filesystem::path& path() const noexcept { return folder_; }

  /// Makes the folder. If no file gets its name, a folder that was made is removed in the end.
  /// Throws as make_output_folder().
  void make() { made_.add(make_output_folder(folder_)); }

  /// Adds a file that `write` will write. Throws as place_below().
  void add(const std::string& name, std::function<void(HashedFile&)> write) {
    tasks_.push_back({place_below(folder_, name), std::move(write), nullptr});
  }
  /// Adds a file that is written already and only lacks its name.
  void add(const std::string& name, std::shared_ptr<HashedFile> written) {
    tasks_.push_back({place_below(folder_, name), {}, std::move(written)});
  }
  /// Adds a file with these bytes.
  void add(const std::string& name, std::string bytes) {
    add(name, [bytes = std::move(bytes)](HashedFile& file) { file.write(bytes); });
  }

  /// Writes the files on up to `threads` threads (0 = as many as the machine has), then result.json
  /// by `write_result`, which takes the others. Waits for another run that is writing into the
  /// folder. Returns all, in the order of add(). Throws Error(file) for the first that fails; the
  /// folder is unchanged then.
  std::vector<WrittenFile> write(std::size_t threads,
                                 const std::function<void(const std::vector<WrittenFile>& others,
                                                          HashedFile& result)>& write_result);

  /// Makes the folder, writes the files and gives them their names, where they are no parts of a
  /// result. Returns their paths, in the order of add(). Throws Error(file), and as
  /// MappedFiles::refuse_output() before anything is written; `inputs` may be null.
  std::vector<std::filesystem::path> write_all(const MappedFiles* inputs);

  /// Has commit() remove a file of the older result once the new one is whole.
  void remove_after(std::filesystem::path file) { left_over_.push_back(std::move(file)); }

  /// Marks an older result as unfinished, if there is one of which other files are replaced.
  /// Throws Error(file).
  void mark_unfinished();
  /// Gives the files their names. Throws Error(file); the result is unfinished then.
  void commit();

 private:
  struct Task {
    std::filesystem::path path;
    std::function<void(HashedFile&)> write;
    std::shared_ptr<HashedFile> file;
  };

  void write_files(std::size_t threads);

  std::filesystem::path folder_;
  bool sync_;
  OutputLock lock_;  // outlives made_, which may remove the folder
  NewFolders made_;
  std::vector<Task> tasks_;
  std::unique_ptr<HashedFile> result_;
  std::unique_ptr<AtomicFile> mark_;
  std::vector<std::filesystem::path> left_over_;
};

}  // namespace attn
