#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <optional>
#include <string>

#include "support/translated.hpp"

namespace attn {

/// Uninitialised memory at a multiple of 64 bytes, for free_block(); null if there is not enough.
/// Large blocks use large pages: pixels, weights and outputs are touched once or twice, and faults
/// of small pages would take much of the time.
void* allocate_block(std::size_t bytes) noexcept;

/// Frees a block or keeps it for later blocks (see keep_freed_tensors()).
void free_block(void* block) noexcept;

struct FreeBlock {
  void operator()(void* block) const noexcept { free_block(block); }
};

template <class T>
struct BlockAllocator {
  using value_type = T;
  BlockAllocator() = default;
  template <class U>
  BlockAllocator(const BlockAllocator<U>&) noexcept {}
  T* allocate(std::size_t count) {
    void* block = allocate_block(count * sizeof(T));
    if (block == nullptr) throw std::bad_alloc();
    return static_cast<T*>(block);
  }
  void deallocate(T* block, std::size_t) noexcept { free_block(block); }
  bool operator==(const BlockAllocator&) const noexcept { return true; }
};

/// Throws Error(input) with `what`, its size and `help` if it takes more than this machine's memory
/// or the program's limit. Called before an allocation: the system would grant the memory and end
/// the program when it is touched.
void check_memory(std::size_t elements, std::size_t bytes_each, const std::string& what,
                  const std::string& where,
                  const std::string& help = translated("make it smaller"));

/// Overload for any number of bytes, also for more than can be addressed.
void check_memory(double bytes, const std::string& what, const std::string& where,
                  const std::string& help = "make it smaller");

/// Bytes that the machine, the program's control group and the limit of its address space let it
/// use; infinity if none of them is known.
double usable_memory();

/// Limit of the program's address space in bytes (`ulimit -v`); absent if there is none.
std::optional<std::size_t> address_space_limit() noexcept;

/// True if the system would grant that many more bytes now.
bool can_be_mapped(std::size_t bytes) noexcept;

/// Limit of memory in bytes of the control groups that a process is in, the smallest of all levels
/// (memory.max of version 2, memory.limit_in_bytes of version 1); absent if there is none.
/// `membership` is the text of /proc/self/cgroup, `mounted` the folder /sys/fs/cgroup.
std::optional<double> group_memory_limit(const std::string& membership,
                                         const std::filesystem::path& mounted);

}  // namespace attn
