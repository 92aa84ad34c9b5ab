#include "support/thread_pool.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <set>
#include <thread>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using attn::ThreadPool;

// Work of as many threads as `all`, none of which ends before all have come.
void meet(int all) {
  std::atomic<int> arrived = 0;
  ThreadPool::of_process().run(static_cast<std::size_t>(all) - 1, [&] {
    ++arrived;
    while (arrived < all) std::this_thread::yield();
  });
  CHECK(arrived == all);
}

TEST_CASE("a pool runs the work on the calling thread alone where no others are wanted") {
  int calls = 0;
  std::thread::id thread;
  ThreadPool::of_process().run(0, [&] {
    ++calls;
    thread = std::this_thread::get_id();
  });
  CHECK(calls == 1);
  CHECK(thread == std::this_thread::get_id());
}

TEST_CASE("a pool gives the next work to the threads that it has") {
  std::set<std::thread::id> threads;
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> arrived = 0;
    std::thread::id other;
    const auto here = std::this_thread::get_id();
    ThreadPool::of_process().run(1, [&] {
      if (std::this_thread::get_id() != here) other = std::this_thread::get_id();
      ++arrived;
      while (arrived < 2) std::this_thread::yield();
    });
    threads.insert(other);
  }
  CHECK(threads.size() == 1);
  CHECK(threads.count(std::thread::id()) == 0);
}

TEST_CASE("work of a pool can have the pool run more") {
  std::atomic<int> calls = 0;
  std::atomic<int> arrived = 0;
  ThreadPool::of_process().run(2, [&] {
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
    meet(3);
    ++calls;
  });
  CHECK(calls == 3);
}

TEST_CASE("several threads have a pool run their work at the same time") {
  std::atomic<std::size_t> calls = 0;
  {
    const auto many = [&] {
      for (int round = 0; round < 500; ++round) ThreadPool::of_process().run(2, [&] { ++calls; });
    };
    const std::jthread first(many);
    const std::jthread second(many);
    many();
  }
  // Each calls once at least, and never oftener than by all three.
  CHECK(calls >= 1500);
  CHECK(calls <= 4500);
}

TEST_CASE("work that sleeps longer than a thread looks for more is done as well") {
  for (int round = 0; round < 5; ++round) {
    meet(3);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST_CASE("a child of a process whose pool has threads computes with threads of its own") {
#if defined(__SANITIZE_THREAD__)
  MESSAGE("skipped: ThreadSanitizer ends a child of a process with threads that starts one");
#else
  meet(3);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::atomic<int> arrived = 0;
    ThreadPool::of_process().run(2, [&] {
      ++arrived;
      while (arrived < 3) std::this_thread::yield();
    });
    _exit(arrived == 3 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  meet(3);
#endif
}

}  // namespace
