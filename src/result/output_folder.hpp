#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "support/atomic_file.hpp"

namespace attn {

/// Makes the folder of the results if it is missing, and removes what killed programs left in it.
/// Its parent must be there: a mistyped path is an error, not a new tree. Throws Error(file) at
/// RunOptions::out.
void make_output_folder(const std::filesystem::path& folder);

/// Makes the folders that `below` names inside the folder of the results. Throws Error(file) if one
/// of them is a symbolic link, which somebody may have put there to have files written elsewhere.
void make_folders_below(const std::filesystem::path& folder, const std::filesystem::path& below);

/// Throws Error(file) if the folder is a symbolic link.
void refuse_link(const std::filesystem::path& folder);

/// Files of a result, which are written together, each whole or not at all.
class FileTasks {
 public:
  /// Adds a file that `write` will write.
  void add(std::filesystem::path path, std::function<void(AtomicFile&)> write) {
    tasks_.push_back({std::move(path), std::move(write), nullptr});
  }
  /// Adds a file that is written already and only lacks its name.
  void add(std::filesystem::path path, std::shared_ptr<AtomicFile> written) {
    tasks_.push_back({std::move(path), {}, std::move(written)});
  }

  /// Writes the files on up to `threads` threads (0 = as many as the machine has) and returns their
  /// paths in the order of add(). Throws Error(file) for the first that fails; some of the others
  /// may be there then.
  std::vector<std::filesystem::path> write(std::size_t threads) const;

 private:
  struct Task {
    std::filesystem::path path;
    std::function<void(AtomicFile&)> write;
    std::shared_ptr<AtomicFile> written;  ///< instead of `write`
  };
  std::vector<Task> tasks_;
};

}  // namespace attn
