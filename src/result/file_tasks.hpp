#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "support/atomic_file.hpp"

namespace attn {

/// Files to be written at once, each whole or not at all.
class FileTasks {
 public:
  void add(std::filesystem::path path, std::function<void(AtomicFile&)> write) {
    tasks_.push_back({std::move(path), std::move(write), nullptr});
  }
  /// A file that is written already and only lacks its name.
  void add(std::filesystem::path path, std::shared_ptr<AtomicFile> written) {
    tasks_.push_back({std::move(path), {}, std::move(written)});
  }

  /// Writes them on up to `threads` threads (0 = as many as the machine has). Returns their paths
  /// in the order of add(). A failure ends the writing; some of the other files may be there then.
  std::vector<std::filesystem::path> write(std::size_t threads) const;

 private:
  struct Task {
    std::filesystem::path path;
    std::function<void(AtomicFile&)> write;
    std::shared_ptr<AtomicFile> written;  ///< in the place of `write`
  };
  std::vector<Task> tasks_;
};

}  // namespace attn
