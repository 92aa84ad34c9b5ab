#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "attn/file_access.hpp"

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

/// Name of a file that is to be read, and who gave it, which decides what may be behind it.
class FileName {
 public:
  /// A name that the user gave: any file, a pipe, or "-", standard input.
  static FileName by_user(std::filesystem::path path) { return {"", std::move(path), true}; }
  /// A name that a document, an index, a list or a folder gave, relative to a folder that exists: a
  /// regular file, inside FileAccess::restrict_to.
  static FileName by_document(std::filesystem::path folder, std::filesystem::path name) {
    return {std::move(folder), std::move(name), false};
  }
  /// A name in a folder that refuse_outside() has let pass.
  static FileName by_document(const std::filesystem::path& path) {
    return by_document(path.parent_path(), path.filename());
  }

  const std::filesystem::path& folder() const { return folder_; }
  const std::filesystem::path& name() const { return name_; }
  std::filesystem::path path() const { return folder_ / name_; }
  bool is_of_user() const { return of_user_; }
  bool is_standard_input() const { return of_user_ && name_ == "-"; }
  /// For messages: the path in quotes, or "standard input".
  std::string text() const;

 private:
  FileName(std::filesystem::path folder, std::filesystem::path name, bool of_user)
      : folder_(std::move(folder)), name_(std::move(name)), of_user_(of_user) {}

  std::filesystem::path folder_, name_;
  bool of_user_;
};

/// The path nearest to one that is missing: another name in its folder, or its own in a folder
/// whose name is near; empty if there is none.
std::string nearest_file(const std::filesystem::path& missing);

/// File that is open for reading, and what it was when it was opened.
struct OpenedFile {
  Descriptor descriptor;
  struct stat status = {};
};

/// Opens a file. Nothing waits but a pipe that the user named, for who writes to it. Throws
/// Error(file) with the name and the reason if it cannot be opened, or is something that may not be
/// behind a name from there; Error(input) for a place outside of FileAccess::restrict_to, where
/// nothing is touched, so that the error does not depend on what is there.
OpenedFile open_file(const FileName& file, const FileAccess& access);

/// Throws the errors of open_file() for a name with a zero byte and for a place outside of
/// FileAccess::restrict_to, also for the name of a folder.
void refuse_outside(const FileName& file, const FileAccess& access);

/// Throws Error(input) for a document found below `typed`, which the user named, by a link that
/// leads out of FileAccess::restrict_to.
void refuse_links_outside(const std::filesystem::path& path, const std::filesystem::path& typed,
                          const FileAccess& access);

/// Whether there is something of that name. Throws as refuse_outside() does.
bool is_there(const FileName& file, const FileAccess& access);

}  // namespace attn
