#include "support/parallel_for.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using attn::parallel_for;
using attn::run_beside;

TEST_CASE("parallel_for calls each task once, whatever the number of threads") {
  for (const std::size_t threads : {0U, 1U, 2U, 3U, 7U, 100U}) {
    for (const std::size_t count : {0U, 1U, 2U, 5U, 1000U}) {
      CAPTURE(threads);
      CAPTURE(count);
      std::vector<std::atomic<int>> calls(count);
      parallel_for(count, threads, [&](std::size_t i) { ++calls.at(i); });
      CHECK(std::all_of(calls.begin(), calls.end(), [](const auto& n) { return n == 1; }));
    }
  }
}

TEST_CASE("parallel_for with one thread runs the tasks in order on the calling thread") {
  std::vector<std::size_t> order;
  std::set<std::thread::id> threads;
  parallel_for(6, 1, [&](std::size_t i) {
    order.push_back(i);
    threads.insert(std::this_thread::get_id());
  });
  CHECK(order == std::vector<std::size_t>{0, 1, 2, 3, 4, 5});
  CHECK(threads == std::set{std::this_thread::get_id()});
}

TEST_CASE("parallel_for runs as many tasks at once as it was given threads") {
  // Each task waits for all the others: with fewer threads this would never end.
  std::atomic<int> arrived = 0;
  parallel_for(3, 3, [&](std::size_t) {
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
  });
  CHECK(arrived == 3);
}

TEST_CASE("parallel_for throws the exception of a task again after all threads have stopped") {
  for (const std::size_t threads : {1U, 2U, 5U}) {
    CAPTURE(threads);
    std::atomic<int> running = 0;
    CHECK_THROWS_WITH_AS(parallel_for(100, threads,
                                      [&](std::size_t i) {
                                        ++running;
                                        if (i == 3) {
                                          --running;
                                          throw std::runtime_error("task 3");
                                        }
                                        --running;
                                      }),
                         "task 3", std::runtime_error);
    CHECK(running == 0);
  }
}

TEST_CASE("parallel_for takes no further tasks after one has failed") {
  std::atomic<std::size_t> calls = 0;
  const auto task = [&](std::size_t) {
    ++calls;
    throw std::runtime_error("each fails");
  };
  CHECK_THROWS_AS(parallel_for(1000, 4, task), std::runtime_error);
  CHECK(calls >= 1);
  CHECK(calls <= 4);  // one a thread
}

TEST_CASE("thread_count is the number asked for, and at least one where none is") {
  CHECK(attn::thread_count(1) == 1);
  CHECK(attn::thread_count(12) == 12);
  CHECK(attn::thread_count(0) >= 1);
}

TEST_CASE("parallel_for starts no more threads than there are tasks") {
  std::atomic<int> calls = 0;
  parallel_for(2, std::numeric_limits<std::size_t>::max(), [&](std::size_t) { ++calls; });
  CHECK(calls == 2);
}

TEST_CASE("run_beside calls both once, the first on the calling thread") {
  for (const std::size_t threads : {0U, 1U, 2U, 50U}) {
    CAPTURE(threads);
    for (int round = 0; round < 200; ++round) {
      int here = 0, beside = 0;
      std::thread::id thread;
      run_beside(
          threads,
          [&] {
            ++here;
            thread = std::this_thread::get_id();
          },
          [&] { ++beside; });
      CHECK(here == 1);
      CHECK(beside == 1);
      CHECK(thread == std::this_thread::get_id());
    }
  }
}

TEST_CASE("run_beside runs both at once where a thread is free, and in order where none is") {
  std::atomic<int> arrived = 0;
  const auto meet = [&] {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  };
  run_beside(50, meet, meet);
  CHECK(arrived == 2);
  std::vector<int> order;
  run_beside(
      1, [&] { order.push_back(1); }, [&] { order.push_back(2); });
  CHECK(order == std::vector<int>{1, 2});
}

TEST_CASE("run_beside throws what one of both threw, after both have ended") {
  const auto fail = [](const char* what) { return [what] { throw std::runtime_error(what); }; };
  for (const std::size_t threads : {1U, 50U}) {
    CAPTURE(threads);
    std::atomic<int> ended = 0;
    const auto end = [&] { ++ended; };
    CHECK_THROWS_WITH_AS(run_beside(threads, fail("here"), end), "here", std::runtime_error);
    CHECK(ended <= 1);
    ended = 0;
    CHECK_THROWS_WITH_AS(run_beside(threads, end, fail("beside")), "beside", std::runtime_error);
    CHECK(ended == 1);
  }
}

}  // namespace
