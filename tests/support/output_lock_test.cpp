#include "support/output_lock.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "support/atomic_file.hpp"
#include "temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
using attn::OutputLock;

std::string error_of_folder(const fs::path& folder) {
  return error_from([&] { OutputLock::of_folder(folder, {}); }, attn::ErrorKind::file);
}
std::string error_of_file(const fs::path& file) {
  return error_from([&] { OutputLock::of_file(file); }, attn::ErrorKind::file);
}
std::string refusal(const fs::path& path) {
  return "another run is writing \"" + path.string() +
         "\"\n  help:  wait for it to end, or write into another folder";
}

}  // namespace

TEST_CASE("a folder and a file have one lock at a time") {
  const TemporaryFolder folder;
  {
    const OutputLock of_folder = OutputLock::of_folder(folder.path());
    const OutputLock of_file = OutputLock::of_file(folder / "sums.json");
    CHECK(error_of_folder(folder.path()) == refusal(folder.path()));
    CHECK(error_of_file(folder / "sums.json") == refusal(folder / "sums.json"));
    CHECK(error_of_file(folder / "others.json") == "no error");
    CHECK_FALSE(fs::exists(folder / "sums.json"));
  }
  CHECK(error_of_folder(folder.path()) == "no error");
  CHECK(error_of_file(folder / "sums.json") == "no error");
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("who comes second waits for the lock of a folder") {
  const TemporaryFolder folder;
  OutputLock first = OutputLock::of_folder(folder.path());
  std::atomic<bool> ended = false;
  std::thread second([&] {
    const OutputLock lock = OutputLock::of_folder(folder.path());
    CHECK(ended);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ended = true;
  first = {};
  second.join();
}

TEST_CASE("a killed program has no locks, and what it left of them is removed") {
  const TemporaryFolder folder;
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t process = fork();
  if (process == 0) {
    const OutputLock of_folder = OutputLock::of_folder(folder.path());
    const OutputLock of_file = OutputLock::of_file(folder / "sums.json");
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
    _exit(1);
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  close(ready[0]);
  close(ready[1]);
  CHECK(error_of_folder(folder.path()) == refusal(folder.path()));
  attn::remove_leftovers(folder.path());
  CHECK_FALSE(fs::is_empty(folder.path()));
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  CHECK_FALSE(fs::is_empty(folder.path()));
  attn::remove_leftovers(folder.path());
  CHECK(fs::is_empty(folder.path()));
  CHECK(error_of_folder(folder.path()) == "no error");
  CHECK(error_of_file(folder / "sums.json") == "no error");
}

TEST_CASE("a lock tells that its folder was removed, and needs no folder") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "out");
  const OutputLock lock = OutputLock::of_folder(folder / "out");
  CHECK_FALSE(lock.is_of_removed());
  fs::remove(folder / "out");
  CHECK(lock.is_of_removed());
  CHECK_FALSE(OutputLock::of_folder(folder / "out").is_of_removed());
  CHECK(error_of_file(folder / "out/sums.json") == "no error");
}
