#include "support/parallel_for.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "support/thread_pool.hpp"
#include "support/work_budget.hpp"

namespace attn {

std::size_t thread_count(std::size_t wanted) noexcept {
  return wanted > 0 ? wanted : std::max(1U, std::thread::hardware_concurrency());
}

void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t)>& task) {
  threads = std::min(thread_count(threads), count);
  if (threads <= 1) {
    for (std::size_t i = 0; i < count; ++i) {
      check_time();
      task(i);
    }
    return;
  }
  // The calling thread begins with task 0: of computations that follow each other with a task per
  // thread, it reads the same rows or columns again, from its own cache.
  std::atomic<std::size_t> next{1};
  std::atomic<bool> failed{false};
  const auto caller = std::this_thread::get_id();
  std::exception_ptr failure;
  std::mutex failure_guard;
  const auto work = [&] {
    const bool first = std::this_thread::get_id() == caller;
    for (std::size_t i = first ? 0 : next++; i < count && !failed; i = next++) {
      try {
        check_time();
        task(i);
      } catch (...) {
        const std::lock_guard lock(failure_guard);
        if (!failure) failure = std::current_exception();
        failed = true;
      }
    }
  };
  ThreadPool::of_process().run(threads - 1, work);
  if (failure) std::rethrow_exception(failure);
}

void run_beside(std::size_t threads, const std::function<void()>& here,
                const std::function<void()>& beside) {
  if (ThreadPool::of_process().working() >= thread_count(threads)) {
    here();
    beside();
    return;
  }
  std::atomic<bool> begun{false};
  std::exception_ptr failure_here, failure_beside;
  const auto caller = std::this_thread::get_id();
  ThreadPool::of_process().run(1, [&] {
    if (std::this_thread::get_id() == caller) {
      try {
        here();
      } catch (...) {
        failure_here = std::current_exception();
      }
    }
    if (begun.exchange(true)) return;
    try {
      beside();
    } catch (...) {
      failure_beside = std::current_exception();
    }
  });
  if (failure_here) std::rethrow_exception(failure_here);
  if (failure_beside) std::rethrow_exception(failure_beside);
}

}  // namespace attn
