#include "support/parallel_for.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "support/thread_pool.hpp"

namespace attn {

std::size_t thread_count(std::size_t wanted) noexcept {
  return wanted > 0 ? wanted : std::max(1U, std::thread::hardware_concurrency());
}

void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t)>& task) {
  threads = std::min(thread_count(threads), count);
  if (threads <= 1) {
    for (std::size_t i = 0; i < count; ++i) task(i);
    return;
  }
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_guard;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        task(i);
      } catch (...) {
        const std::lock_guard lock(failure_guard);
        if (!failure) failure = std::current_exception();
        next = count;
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
