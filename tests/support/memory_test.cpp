#include "attn/memory.hpp"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "attn/error.hpp"

#include "support/memory.hpp"
#include "support/number_text.hpp"
#include "support/platform.hpp"
#include "temporary_folder.hpp"

namespace {

using attn::allocate_block;
using attn::free_block;

constexpr std::size_t megabyte = std::size_t{1} << 20U;

// Keeps nothing once a test is over, however it ends.
struct Keeping {
  explicit Keeping(std::size_t bytes) { attn::keep_freed_tensors(bytes); }
  ~Keeping() { attn::keep_freed_tensors(0); }
  Keeping(const Keeping&) = delete;
  Keeping& operator=(const Keeping&) = delete;
};

TEST_CASE("blocks of every size begin on a line of the cache and hold what they were asked for") {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65},
        2 * megabyte, 4 * megabyte - 1, 4 * megabyte, 9 * megabyte + 5}) {
    CAPTURE(bytes);
    void* const block = allocate_block(bytes);
    REQUIRE(block != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % 64 == 0);
    std::memset(block, 1, bytes);
    free_block(block);
  }
}

TEST_CASE("a block whose whole pages would be more than there are addresses is not given") {
  CHECK(allocate_block(SIZE_MAX) == nullptr);
  CHECK(allocate_block(SIZE_MAX - 1000) == nullptr);
}

TEST_CASE("a kept block serves the next of its size, with what was written into it") {
  const Keeping keeping(100 * megabyte);
  void* const first = allocate_block(20 * megabyte);
  REQUIRE(first != nullptr);
  std::memset(first, 77, 20 * megabyte);
  free_block(first);
  void* const second = allocate_block(18 * megabyte);
  CHECK(second == first);
  CHECK(static_cast<unsigned char*>(second)[12345678] == 77);
  free_block(second);
}

TEST_CASE("of kept blocks the smallest that holds enough is taken") {
  const Keeping keeping(100 * megabyte);
  void* const larger = allocate_block(30 * megabyte);
  void* const smaller = allocate_block(24 * megabyte);
  free_block(larger);
  free_block(smaller);
  void* const again = allocate_block(22 * megabyte);
  CHECK(again == smaller);
  free_block(again);
}

TEST_CASE("many small blocks that are kept leave room for large ones") {
  const Keeping keeping(200 * megabyte);
  void* const large = allocate_block(32 * megabyte);
  REQUIRE(large != nullptr);
  std::vector<void*> small;
  for (std::size_t i = 0; i < 300; ++i) {
    small.push_back(allocate_block(megabyte / 8 + 64 * i));
  }
  for (void* const block : small) free_block(block);
  free_block(large);
  void* const again = allocate_block(32 * megabyte);
  CHECK(again == large);
  free_block(again);
}

TEST_CASE("a block is kept only up to the limit") {
  const Keeping keeping(60 * megabyte);
  void* const one = allocate_block(40 * megabyte);
  void* const other = allocate_block(40 * megabyte);
  REQUIRE(one != nullptr);
  REQUIRE(other != nullptr);
  std::memset(other, 5, 40 * megabyte);
  free_block(one);
  free_block(other);  // beyond the limit: given back
  void* const kept = allocate_block(40 * megabyte);
  CHECK(kept == one);
  void* const fresh = allocate_block(40 * megabyte);
  REQUIRE(fresh != nullptr);
  // Memory that the system clears was not kept; the C library gives back blocks from 32 MB on.
  CHECK(static_cast<unsigned char*>(fresh)[10 * megabyte] != 5);
  free_block(kept);
  free_block(fresh);
}

TEST_CASE("a kept block stays while others are made, up to half of the most that was in use") {
  const Keeping keeping(300 * megabyte);
  void* const large = allocate_block(100 * megabyte);
  REQUIRE(large != nullptr);
  std::memset(large, 7, 100 * megabyte);
  free_block(large);
  void* const small = allocate_block(10 * megabyte);  // none of ten times the size is used
  CHECK(small != large);
  void* const again = allocate_block(100 * megabyte);
  CHECK(again == large);
  CHECK(static_cast<unsigned char*>(again)[50 * megabyte] == 7);
  free_block(again);
  free_block(small);
  // 110 MB were in use: with 62 more than the 110 that are kept there would be more than 165.
  void* const other = allocate_block(62 * megabyte);
  void* const fresh = allocate_block(100 * megabyte);
  REQUIRE(fresh != nullptr);
  CHECK(static_cast<unsigned char*>(fresh)[50 * megabyte] != 7);
  free_block(other);
  free_block(fresh);
}

TEST_CASE("threads take and free blocks at once") {
  const Keeping keeping(200 * megabyte);
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      for (std::size_t round = 0; round < 50; ++round) {
        const std::size_t bytes = (8 + (round + static_cast<std::size_t>(t)) % 5) * megabyte;
        auto* const block = static_cast<unsigned char*>(allocate_block(bytes));
        if (block == nullptr) continue;
        block[0] = block[bytes - 1] = static_cast<unsigned char>(t);
        std::this_thread::yield();
        if (block[0] != t || block[bytes - 1] != t) ++wrong[static_cast<std::size_t>(t)];
        free_block(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

using attn::check_memory;

double machine_memory() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

TEST_CASE("what fits into memory passes the memory check") {
  CHECK_NOTHROW(check_memory(0, 8, "nothing", ""));
  CHECK_NOTHROW(check_memory(1000, 8, "a small tensor", "/query"));
}

TEST_CASE("what exceeds the machine's memory is refused with its size") {
  CHECK_THROWS_WITH_AS(
      check_memory(1'000'000'000'000'000, 4, "the weights [1,2]", "/query"),
      ("the weights [1,2] would take 4 PB, more than the memory of this machine, " +
       attn::bytes_text(machine_memory()) + "\n  where: /query\n  help:  make it smaller")
          .c_str(),
      attn::Error);
}

TEST_CASE("a size whose number of bytes overflows is refused, not wrapped around") {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  CHECK_THROWS_AS(check_memory(most, 8, "it", ""), attn::Error);
  CHECK_THROWS_AS(check_memory(most / 8 + 2, 8, "it", ""), attn::Error);
  CHECK_THROWS_AS(check_memory(most, most, "it", ""), attn::Error);
}

TEST_CASE("the smallest limit of a process's control groups counts") {
  const TemporaryFolder folder;
  const auto limit = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories((folder.path() / path).parent_path());
    folder.write(path, text);
  };
  const auto found = [&](const std::string& membership) {
    return attn::group_memory_limit(membership, folder.path());
  };
  // Version 2.
  CHECK_FALSE(found("0::/pods/one\n"));
  limit("pods/one/memory.max", "max\n");
  CHECK_FALSE(found("0::/pods/one\n"));
  limit("pods/memory.max", "2147483648\n");
  CHECK(found("0::/pods/one\n") == 2147483648.0);
  limit("pods/one/memory.max", "1000000\n");
  CHECK(found("0::/pods/one\n") == 1e6);
  CHECK(found("0::/pods\n") == 2147483648.0);
  CHECK_FALSE(found("0::/\n"));
  // Version 1, where a container does not see the path of its group.
  limit("memory/memory.limit_in_bytes", "500000\n");
  CHECK(found("5:cpu,memory:/docker/1234\n3:pids:/pods/one\n") == 5e5);
  CHECK_FALSE(found("5:cpu:/docker/1234\nwithout colons\n"));
}

TEST_CASE("a thread knows the stack that it has left") {
  const auto left = attn::platform::stack_left();
  REQUIRE(left);
  CHECK(*left > 1000);
  CHECK(*left < std::size_t{1} << 40U);
}

}  // namespace
