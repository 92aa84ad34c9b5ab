#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace attn {

/// A thread that works beside its owner until it is joined. Defined apart from the queue, as the
/// standard library's threads name std::terminate, which no other part of the library may.
class ThreadBeside {
 public:
  ThreadBeside() noexcept;
  ~ThreadBeside();
  ThreadBeside(const ThreadBeside&) = delete;
  ThreadBeside& operator=(const ThreadBeside&) = delete;

  /// Begins the work, unless the system gives no thread.
  void begin(std::function<void()> work);
  bool joinable() const noexcept;
  void join();

 private:
  std::thread thread_;
};

/// Items that a thread works on in the order in which they come, while whoever adds them goes on.
/// Several threads may add items.
template <class Item>
class WorkQueue {
 public:
  /// `work` takes all items that have come meanwhile. add() waits while items of more than `most`
  /// in size are not done. Without `beside`, or where the system gives no thread, add() does the
  /// work itself.
  WorkQueue(bool beside, std::size_t most, std::function<void(std::vector<Item>)> work)
      : most_(most), work_(std::move(work)) {
    if (beside) thread_.begin([this] { work_as_they_come(); });
  }
  ~WorkQueue() { end_thread(); }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  /// Throws what the work on this item or an earlier one threw, after which none is worked on.
  void add(Item item, std::size_t size = 1) {
    std::unique_lock lock(guard_);
    if (failure_) std::rethrow_exception(failure_);
    if (!thread_.joinable()) {
      std::vector<Item> alone;
      alone.push_back(std::move(item));
      failure_ = failure_of(std::move(alone));
      if (failure_) std::rethrow_exception(failure_);
      return;
    }
    waiting_.push_back(std::move(item));
    waiting_size_ += size;
    changed_.notify_all();
    changed_.wait(lock, [&] { return waiting_size_ + working_size_ <= most_ || failure_; });
    if (failure_) std::rethrow_exception(failure_);
  }

  /// Waits until all is done. Throws as add() does.
  void finish() {
    end_thread();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::exception_ptr failure_of(std::vector<Item> items) const noexcept {
    try {
      work_(std::move(items));
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  void end_thread() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(guard_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void work_as_they_come() {
    std::unique_lock lock(guard_);
    while (true) {
      changed_.wait(lock, [&] { return ended_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      std::vector<Item> items = std::exchange(waiting_, {});
      working_size_ = std::exchange(waiting_size_, 0);
      lock.unlock();
      const std::exception_ptr failure = failure_of(std::move(items));
      lock.lock();
      working_size_ = 0;
      failure_ = failure;
      changed_.notify_all();
      if (failure_) return;
    }
  }

  std::size_t most_;
  std::function<void(std::vector<Item>)> work_;
  std::mutex guard_;
  std::condition_variable changed_;
  std::vector<Item> waiting_;
  std::size_t waiting_size_ = 0, working_size_ = 0;
  bool ended_ = false;
  std::exception_ptr failure_;
  ThreadBeside thread_;
};

}  // namespace attn
