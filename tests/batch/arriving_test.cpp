#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <limits>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <pthread.h>
#include <unistd.h>

#include "batch/items.hpp"

namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

// A pipe that something is written into while its lines are read.
class Pipe {
 public:
  Pipe() { REQUIRE(pipe(ends_.data()) == 0); }
  ~Pipe() {
    close_writing();
    close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reading() const { return ends_[0]; }
  void put(const std::string& text) const {
    REQUIRE(write(ends_[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void close_writing() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{};
};

// "3: text", "3 is too long", "end".
std::string next(attn::ArrivingLines& lines) {
  const auto line = lines.next();
  if (!line) return "end";
  return std::to_string(line->number) + (line->text ? ": " + *line->text : " is too long");
}

}  // namespace

TEST_CASE("a line is there before the next one comes, whatever it came with") {
  Pipe pipe;
  attn::ArrivingLines lines(pipe.reading(), no_limit, nullptr);
  pipe.put("one\ntw");
  CHECK(next(lines) == "1: one");
  pipe.put("o\r\n\n\r\nfive\nsix");
  CHECK(next(lines) == "2: two");
  CHECK(next(lines) == "5: five");
  pipe.close_writing();
  CHECK(next(lines) == "6: six");
  CHECK(next(lines) == "end");
  CHECK(next(lines) == "end");
}

TEST_CASE("lines that are too long are passed over, and counted") {
  Pipe pipe;
  attn::ArrivingLines lines(pipe.reading(), 4, nullptr);
  pipe.put("1234\n12345\n12\n123456");
  CHECK(next(lines) == "1: 1234");
  CHECK(next(lines) == "2 is too long");
  CHECK(next(lines) == "3: 12");
  // Before its end, which may never come.
  CHECK(next(lines) == "4 is too long");
  pipe.put("7890123");
  pipe.put("\nend\n1234567");
  CHECK(next(lines) == "5: end");
  pipe.close_writing();
  CHECK(next(lines) == "6 is too long");
  CHECK(next(lines) == "end");
}

TEST_CASE("many lines come through as they are") {
  Pipe pipe;
  constexpr int count = 30'000;
  std::thread writer([&] {
    for (int i = 1; i <= count; ++i) pipe.put(std::to_string(i * 7919) + "\n");
    pipe.close_writing();
  });
  attn::ArrivingLines lines(pipe.reading(), no_limit, nullptr);
  int wrong = 0;
  for (int i = 1; i <= count; ++i) {
    wrong += next(lines) != std::to_string(i) + ": " + std::to_string(i * 7919);
  }
  writer.join();
  CHECK(wrong == 0);
  CHECK(next(lines) == "end");
}

TEST_CASE("after a stop, no line is awaited and no partial line is taken") {
  Pipe pipe;
  std::atomic<bool> stop = false;
  attn::ArrivingLines lines(pipe.reading(), no_limit, &stop);
  pipe.put("whole\nhal");
  CHECK(next(lines) == "1: whole");
  stop = true;
  CHECK(next(lines) == "end");
}

namespace {

std::atomic<bool> signalled = false;

}  // namespace

TEST_CASE("a signal ends the wait for a line, and none that comes later is taken") {
  using namespace std::chrono_literals;
  Pipe pipe;
  std::signal(SIGUSR1, [](int) { signalled = true; });
  const pthread_t waiting = pthread_self();
  std::thread other([&] {
    std::this_thread::sleep_for(50ms);
    pthread_kill(waiting, SIGUSR1);
    std::this_thread::sleep_for(300ms);
    pipe.put("late\n");
  });
  attn::ArrivingLines lines(pipe.reading(), no_limit, &signalled);
  CHECK(next(lines) == "end");
  other.join();
  CHECK(next(lines) == "end");
  std::signal(SIGUSR1, SIG_DFL);
}
