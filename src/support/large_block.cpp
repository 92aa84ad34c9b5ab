#include "support/large_block.hpp"

#include <cstdint>

#include <sys/mman.h>

namespace attn {

void* allocate_block(std::size_t bytes) noexcept {
  constexpr std::size_t line = 64, small_page = 4096, large_page = std::size_t{2} << 20U;
  void* block = std::aligned_alloc(line, (bytes + line - 1) / line * line);
  if (block == nullptr || bytes < large_page) return block;
  // Whole pages of the block; of large ones only those inside it are taken. Blocks that began with
  // one would leave gaps between them. A system without large pages says so; the block is as good.
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t first = address / small_page * small_page;
  madvise(reinterpret_cast<void*>(first), address + bytes - first, MADV_HUGEPAGE);
  return block;
}

}  // namespace attn
