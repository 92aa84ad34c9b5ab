#include "support/thread_pool.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <new>
#include <thread>

#include <pthread.h>

#include "support/work_budget.hpp"

namespace attn {
namespace {

// Number of times that a thread looks for the next job before it sleeps: about a hundred
// microseconds, as between the parts of a small layer. To wake it costs the caller some tens in a
// virtual machine, and the thread as many. Other threads and processes go first meanwhile.
constexpr int looks = 400;

}  // namespace

// Work of one call of run(), on the stack of the calling thread.
struct ThreadPool::Job {
  explicit Job(const std::function<void()>& todo) : work(todo), budget(current_budget()) {}

  // Ends one thread's part. The lock is held while the caller is woken, so that it cannot destroy
  // the job before.
  void leave() {
    const std::lock_guard lock(guard);
    if (--running == 0) ended.notify_one();
  }
  void wait() {
    for (int i = 0; i < looks && running > 0; ++i) std::this_thread::yield();
    std::unique_lock lock(guard);
    ended.wait(lock, [this] { return running == 0; });
  }

  const std::function<void()>& work;
  WorkBudget* const budget;             // of the calling thread
  std::atomic<std::size_t> running{0};  // workers that were given the job and have not left
  std::mutex guard;
  std::condition_variable ended;
};

struct ThreadPool::Worker {
  void take(Job& one) {
    {
      const std::lock_guard lock(guard);
      job = &one;
    }
    given.notify_one();
  }
  // Takes a job back; false if this worker has begun it.
  bool spare(Job& one) {
    Job* expected = &one;
    return job.compare_exchange_strong(expected, nullptr);
  }
  void end() {
    {
      const std::lock_guard lock(guard);
      leaves = true;
    }
    given.notify_one();
    thread.join();
  }
  // Next job; null at the end of the thread.
  Job* next() {
    for (int i = 0; i < looks; ++i) {
      if (job != nullptr) {
        if (Job* const one = job.exchange(nullptr)) return one;
      }
      std::this_thread::yield();
    }
    std::unique_lock lock(guard);
    for (;;) {
      given.wait(lock, [this] { return leaves || job != nullptr; });
      if (Job* const one = job.exchange(nullptr)) return one;
      if (leaves) return nullptr;
    }
  }

  std::atomic<Job*> job{nullptr};  // given and not begun
  bool leaves = false;
  std::mutex guard;
  std::condition_variable given;
  std::thread thread;
};

ThreadPool& ThreadPool::of_process() {
  // Never destroyed, because a process may end during a computation and must not wait for it.
  static ThreadPool& pool = *new ThreadPool;
  struct Ending {
    ~Ending() { pool.end_idle_threads(); }
  };
  static const Ending ending;
  // Only the forking thread exists in a child, where no other may hold the lock.
  [[maybe_unused]] static const int registered =
      pthread_atfork([] { pool.guard_.lock(); }, [] { pool.guard_.unlock(); },
                     [] {
                       pool.forget_threads();
                       pool.guard_.unlock();
                     });
  return pool;
}

void ThreadPool::end_idle_threads() {
  std::vector<std::unique_ptr<Worker>> ending;
  {
    const std::lock_guard lock(guard_);
    if (idle_.size() < workers_.size()) return;
    idle_.clear();
    ending.swap(workers_);
  }
  for (const auto& worker : ending) worker->end();
}

void ThreadPool::forget_threads() noexcept {
  for (auto& worker : workers_) static_cast<void>(worker.release());
  workers_.clear();
  idle_.clear();
}

void ThreadPool::live(Worker& worker) {
  while (Job* const job = worker.next()) {
    {
      const BudgetScope scope(job->budget);
      job->work();
    }
    {
      // Idle before the job ends, so that the next job finds this thread.
      const std::lock_guard lock(guard_);
      idle_.push_back(&worker);
    }
    job->leave();
  }
}

ThreadPool::Worker* ThreadPool::give(Job& job) noexcept {
  const std::lock_guard lock(guard_);
  ++job.running;
  if (!idle_.empty()) {
    // The worker that became idle last is most likely awake.
    Worker* const worker = idle_.back();
    idle_.pop_back();
    worker->take(job);
    return worker;
  }
  try {
    idle_.reserve(workers_.size() + 1);
    workers_.push_back(std::make_unique<Worker>());
  } catch (const std::bad_alloc&) {
    --job.running;
    return nullptr;
  }
  Worker* const worker = workers_.back().get();
  worker->job = &job;
  try {
    worker->thread = std::thread([this, worker] { live(*worker); });
  } catch (const std::exception&) {
    // The system grants no more threads or memory for them.
    workers_.pop_back();
    --job.running;
    return nullptr;
  }
  return worker;
}

std::size_t ThreadPool::working() {
  const std::lock_guard lock(guard_);
  return workers_.size() - idle_.size() + 1;
}

void ThreadPool::run(std::size_t others, const std::function<void()>& work) {
  Job job(work);
  std::vector<Worker*> given;
  given.reserve(others);
  while (given.size() < others) {
    Worker* const worker = give(job);
    if (worker == nullptr) break;
    given.push_back(worker);
  }
  work();
  for (Worker* const worker : given) {
    if (!worker->spare(job)) continue;
    {
      const std::lock_guard lock(guard_);
      idle_.push_back(worker);
    }
    job.leave();
  }
  job.wait();
}

bool grants_threads(std::size_t count) {
  std::mutex all_there;
  std::vector<std::thread> threads;
  threads.reserve(count);
  std::unique_lock waiting(all_there);
  try {
    while (threads.size() < count) {
      threads.emplace_back([&] { const std::lock_guard after(all_there); });
    }
  } catch (const std::exception&) {
    // The system grants no more threads or memory for them.
  }
  waiting.unlock();
  for (std::thread& thread : threads) thread.join();
  return threads.size() == count;
}

}  // namespace attn
