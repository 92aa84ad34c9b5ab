#pragma once

#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>

#include "support/file_opening.hpp"

namespace attn {

/// Locks an open file or folder until its descriptor is closed. False if another program, or
/// another descriptor of this one, still has the lock after a while. Where a file system has no
/// locks, all get one.
bool take_lock(int descriptor, std::chrono::milliseconds patience = {});

/// Keeps other runs from writing the same output until the end of its lifetime, or of the program
/// in whatever way that ends. Where a file system has no locks, it keeps nobody out.
class OutputLock {
 public:
  OutputLock() = default;
  /// Locks a folder in which files that belong together are replaced. Writing takes little time
  /// against computing, so that others wait for it. Throws Error(file) after that time.
  static OutputLock of_folder(const std::filesystem::path& folder,
                              std::chrono::milliseconds patience = std::chrono::minutes(5));
  /// Locks a file that is replaced again and again while it is computed. Throws Error(file) if
  /// another run has it, after as long as one that was told to stop may need. Meanwhile there is a
  /// hidden file beside it; remove_leftovers() removes that of a killed program.
  static OutputLock of_file(const std::filesystem::path& path);
  ~OutputLock();
  OutputLock(OutputLock&& other) noexcept
      : opened_(std::move(other.opened_)), hidden_(std::exchange(other.hidden_, {})) {}
  OutputLock& operator=(OutputLock&& other) noexcept {
    std::swap(opened_, other.opened_);
    std::swap(hidden_, other.hidden_);
    return *this;
  }

  /// Whether the folder was removed before its lock was there, as it was empty.
  bool is_of_removed() const;

  /// Whether a file of this name is what of_file() makes.
  static bool is_hidden_name(std::string_view name);

 private:
  Descriptor opened_{-1};
  std::filesystem::path hidden_;
};

}  // namespace attn
