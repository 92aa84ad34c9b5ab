#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace attn {

/// Memory as malloc gives it, to be freed by free() or free_block(), from a multiple of 64 bytes
/// on. Large blocks ask for large pages: pixels, weights and outputs are touched only once or
/// twice, and faults of small pages would take much of the time. Null if there is not enough
/// memory.
void* allocate_block(std::size_t bytes) noexcept;

/// Frees a block, or keeps it for the next as keep_freed_tensors() says.
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

}  // namespace attn
