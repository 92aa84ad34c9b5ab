#include "support/parallel_for.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace {

using attn::parallel_for;

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

}  // namespace
