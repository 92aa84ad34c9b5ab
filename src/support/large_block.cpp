#include "support/large_block.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif
#include <sys/mman.h>

#include "attn/memory.hpp"

namespace attn {
namespace {

constexpr std::size_t large_page = std::size_t{2} << 20U;

// How large a block is that malloc gave; 0 where that is not told, and nothing is kept.
std::size_t size_of(void* block) noexcept {
#ifdef __GLIBC__
  return malloc_usable_size(block);
#else
  static_cast<void>(block);
  return 0;
#endif
}

// Blocks that were freed and are kept: few, as they are large. What is smaller than the least, the
// C library keeps well enough by itself.
class KeptBlocks {
 public:
  static constexpr std::size_t least = 4 * large_page;

  void set_limit(std::size_t bytes) noexcept {
    const std::lock_guard lock(guard_);
    limit_ = bytes;
    if (bytes_ > limit_) give_back();
  }

  // The smallest that holds so much and not half as much again, or null after all were given back.
  void* take(std::size_t bytes) noexcept {
    const std::lock_guard lock(guard_);
    if (count_ == 0) return nullptr;
    Block* best = nullptr;
    for (std::size_t i = 0; i < count_; ++i) {
      Block& one = blocks_[i];
      if (one.size < bytes || one.size - bytes > bytes / 2) continue;
      if (best == nullptr || one.size < best->size) best = &one;
    }
    if (best == nullptr) {
      give_back();
      return nullptr;
    }
    void* const block = best->address;
    bytes_ -= best->size;
    *best = blocks_[--count_];
    return block;
  }

  bool keep(void* block, std::size_t size) noexcept {
    const std::lock_guard lock(guard_);
    if (count_ == blocks_.size() || size > limit_ - std::min(limit_, bytes_)) return false;
    blocks_[count_++] = {block, size};
    bytes_ += size;
    return true;
  }

 private:
  struct Block {
    void* address;
    std::size_t size;
  };

  void give_back() noexcept {
    for (std::size_t i = 0; i < count_; ++i) std::free(blocks_[i].address);
    count_ = 0;
    bytes_ = 0;
  }

  std::mutex guard_;
  std::array<Block, 16> blocks_{};
  std::size_t count_ = 0, bytes_ = 0, limit_ = 0;
};

// Never destroyed: tensors may be freed until the last.
KeptBlocks& kept_blocks() noexcept {
  alignas(KeptBlocks) static std::array<unsigned char, sizeof(KeptBlocks)> room;
  static KeptBlocks* const blocks = new (room.data()) KeptBlocks;
  return *blocks;
}

}  // namespace

void keep_freed_tensors(std::size_t bytes) noexcept {
  kept_blocks().set_limit(bytes);
}

void* allocate_block(std::size_t bytes) noexcept {
  constexpr std::size_t line = 64, small_page = 4096;
  if (bytes >= KeptBlocks::least) {
    if (void* const kept = kept_blocks().take(bytes)) return kept;
  }
  // Blocks of several large pages begin with one and end with one, so that none of them is made of
  // small pages; among smaller ones the gaps that this leaves would weigh more.
  const std::size_t unit = bytes >= 2 * large_page ? large_page : line;
  if (bytes > SIZE_MAX - unit) return nullptr;
  const std::size_t size = (bytes + unit - 1) / unit * unit;
  void* block = std::aligned_alloc(unit, size);
  if (block == nullptr || bytes < large_page) return block;
  // Whole pages of the block. A system without large pages says so; the block is as good.
  const std::size_t before = reinterpret_cast<std::uintptr_t>(block) % small_page;
  madvise(static_cast<char*>(block) - before, before + size, MADV_HUGEPAGE);
  return block;
}

void free_block(void* block) noexcept {
  if (block == nullptr) return;
  const std::size_t size = size_of(block);
  if (size >= KeptBlocks::least && kept_blocks().keep(block, size)) return;
  std::free(block);
}

}  // namespace attn
