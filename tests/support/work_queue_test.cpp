#include "support/work_queue.hpp"

#include <cstddef>
#include <future>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

using attn::WorkQueue;

TEST_CASE("a queue does its work in order, on a thread or where it is added") {
  for (const bool beside : {false, true}) {
    std::vector<int> done;
    WorkQueue<int> queue(beside, 3, [&](const std::vector<int>& items) {
      done.insert(done.end(), items.begin(), items.end());
    });
    std::vector<int> expected;
    for (int i = 0; i < 100; ++i) {
      queue.add(i, static_cast<std::size_t>(i % 5));
      expected.push_back(i);
    }
    queue.finish();
    CHECK(done == expected);
  }
}

TEST_CASE("what is added to a queue waits for no more than its limit says") {
  std::promise<void> go_on;
  std::vector<int> done;
  WorkQueue<int> queue(true, 10, [&, first = go_on.get_future().share()](const auto& items) {
    first.wait();
    done.insert(done.end(), items.begin(), items.end());
  });
  queue.add(1, 4);
  queue.add(2, 6);
  go_on.set_value();
  queue.add(3, 11);  // returns when it is done itself
  CHECK(done == std::vector{1, 2, 3});
}

TEST_CASE("a failure of a queue's work ends the work and is thrown where items are added") {
  for (const bool beside : {false, true}) {
    CAPTURE(beside);
    std::vector<int> done;
    WorkQueue<int> queue(beside, 0, [&](const std::vector<int>& items) {
      for (const int item : items) {
        if (item == 2) throw std::runtime_error("no room");
        done.push_back(item);
      }
    });
    queue.add(1);
    CHECK_THROWS_WITH_AS(queue.add(2), "no room", std::runtime_error);
    CHECK_THROWS_WITH_AS(queue.add(3), "no room", std::runtime_error);
    CHECK_THROWS_WITH_AS(queue.finish(), "no room", std::runtime_error);
    CHECK_THROWS_WITH_AS(queue.add(4), "no room", std::runtime_error);
    CHECK(done == std::vector{1});
  }
}
