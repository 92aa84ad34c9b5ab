#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace attn {

/// Whether the system grants `count` more threads now.
bool grants_threads(std::size_t count);

/// Threads that wait for work, because starting a thread takes longer than many small computations.
/// The pool grows to the largest number of threads that were wanted at once.
class ThreadPool {
 public:
  /// Pool of this process, which is never destroyed. After a fork the child's pool has no threads.
  static ThreadPool& of_process();

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Runs `work` on the calling thread and at the same time on up to `others` more; fewer if the
  /// system grants no more threads or the calling one ends before they begin. Returns when all that
  /// began have ended. `work` must not throw; it may call run().
  void run(std::size_t others, const std::function<void()>& work);

  /// Number of threads that work now, including the calling one.
  std::size_t working();

 private:
  struct Job;
  struct Worker;

  ThreadPool() = default;
  ~ThreadPool() = default;
  void live(Worker& worker);
  /// Gives `job` to a waiting or new thread; null if the system grants no thread.
  Worker* give(Job& job) noexcept;
  void forget_threads() noexcept;
  /// Ends all threads if none of them works.
  void end_idle_threads();

  std::mutex guard_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_;  // has room for all workers, so that returning one cannot fail
};

}  // namespace attn
