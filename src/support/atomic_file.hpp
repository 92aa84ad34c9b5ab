#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace attn {

/// Treatment of links, devices and pipes that already have the name of a new file. A regular file
/// is always replaced; a folder is an error.
enum class Existing {
  /// They are replaced too: nobody can redirect results by planting a link or a pipe.
  replaced,
  /// For files that the user named: a symbolic link is followed; a device, a pipe or /dev/stdout is
  /// written to at once. Folders that are missing above the file are made.
  followed,
};

/// Folders that are made for outputs, with those above them, where they are missing. Those that
/// were made are removed in the end if nothing is in them, unless they are kept.
class NewFolders {
 public:
  NewFolders() = default;
  /// Makes the folder. An error is the system's reason.
  NewFolders(const std::filesystem::path& folder, std::error_code& error);
  ~NewFolders();
  NewFolders(NewFolders&& other) noexcept : made_(std::exchange(other.made_, {})) {}
  NewFolders& operator=(NewFolders&& other) noexcept {
    std::swap(made_, other.made_);
    return *this;
  }

  /// Adds folders that were made in these.
  void add(NewFolders inner);
  /// Keeps the folders, and returns those that were made, the outermost first.
  std::vector<std::filesystem::path> keep() noexcept { return std::exchange(made_, {}); }

 private:
  std::vector<std::filesystem::path> made_;
};

/// File that gets its name when it is whole, at commit(); before that, whatever ends the program
/// leaves an existing file unchanged. All functions throw Error(file) with the path and the
/// system's reason.
///
/// A new file has the permissions that the umask leaves. A replaced file keeps its permissions
/// without the set-user-ID and set-group-ID bits.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path, Existing existing = Existing::replaced);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  /// Writes what follows past the system's cache of files, whose new pages cost more than a fast
  /// disk; to a slow one, or where the file system cannot, through the cache all the same. For a
  /// large file of which nothing is written yet.
  void begin_direct();
  /// Writes what is left of that, which commit() and sync() do too, and lets its memory go. False
  /// if the cache has had to be used.
  bool end_direct();
  /// Has the system begin to put the bytes on the disk, so that sync() has less to wait for.
  void begin_sync() noexcept;
  /// Waits until the bytes are on the disk, which a power failure does not lose.
  void sync();
  /// Closes the file, under a hidden name until commit(): for many files at a time, more than a
  /// process may have open.
  void set_aside();
  void commit();

 private:
  class DirectPieces;

  void write_at_once(std::string_view bytes);
  bool find_target();
  void open_temporary();
  void close_whole();
  void take_hidden_name();
  void link_into_place();
  [[noreturn]] void fail(int reason) const;

  NewFolders folders_;                 // above the file
  std::filesystem::path path_;         // as the caller named it, for messages
  std::filesystem::path target_;       // final path; empty if the file is written to directly
  std::filesystem::path temporary_;    // hidden name of the unfinished file, if it has one
  bool replaces_ = false;              // whether the target exists
  std::optional<unsigned> kept_mode_;  // permissions of a replaced file
  int descriptor_ = -1;
  std::unique_ptr<DirectPieces> pieces_;  // while the file is written directly
};

/// Writes and commits an AtomicFile.
void write_whole_file(const std::filesystem::path& path, std::string_view bytes,
                      Existing existing = Existing::replaced);

/// Waits until the names of the folder's files are on the disk. Throws Error(file).
void sync_folder(const std::filesystem::path& folder);

/// Waits until everything that was written to the file system of the folder is on the disk: for
/// many files cheaper than each alone. Throws Error(file).
void sync_file_system(const std::filesystem::path& folder);

/// Removes unfinished files and locks of killed programs from a folder. Files that a running
/// program is writing stay.
void remove_leftovers(const std::filesystem::path& folder);

}  // namespace attn
