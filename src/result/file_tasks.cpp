#include "result/file_tasks.hpp"

#include "support/parallel_for.hpp"

namespace attn {

std::vector<std::filesystem::path> FileTasks::write(std::size_t threads) const {
  parallel_for(tasks_.size(), threads, [&](std::size_t i) {
    if (tasks_[i].written) {
      tasks_[i].written->commit();
      return;
    }
    AtomicFile file(tasks_[i].path);
    tasks_[i].write(file);
    file.commit();
  });
  std::vector<std::filesystem::path> paths;
  for (const Task& task : tasks_) paths.push_back(task.path);
  return paths;
}

}  // namespace attn
