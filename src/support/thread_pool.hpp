#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace attn {

/// Threads that wait for work and are kept for the next: to start one takes longer than many a
/// small computation. It grows to as many as were ever wanted at once.
class ThreadPool {
 public:
  /// The pool of this process, for as long as it lives; after a fork the child has one without
  /// threads.
  static ThreadPool& of_process();

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Runs `work` on the calling thread and at the same time on up to `others` more: fewer where the
  /// system grants no more, or where the calling one has ended before they began. Returns when all
  /// that began have ended. `work` must not throw; it may call run() itself.
  void run(std::size_t others, const std::function<void()>& work);

  /// How many threads work now, the calling one among them.
  std::size_t working();

 private:
  struct Job;
  struct Worker;

  ThreadPool() = default;
  ~ThreadPool() = default;
  void live(Worker& worker);
  /// Gives `job` to a thread that waits or is started for it; none if there can be none.
  Worker* give(Job& job) noexcept;
  void forget_threads() noexcept;
  /// Ends all threads, if none of them works.
  void end_idle_threads();

  std::mutex guard_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_;  // room for all of them, so that none fails to return
};

}  // namespace attn
