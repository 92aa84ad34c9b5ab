#include "support/large_block.hpp"

#include <sys/mman.h>

namespace attn {

void* allocate_block(std::size_t bytes) noexcept {
  constexpr std::size_t line = 64;
  constexpr std::size_t page = std::size_t{2} << 20U;
  if (bytes < page) return std::aligned_alloc(line, (bytes + line - 1) / line * line);
  const std::size_t whole_pages = (bytes + page - 1) / page * page;
  void* block = std::aligned_alloc(page, whole_pages);
  // A system that has no large pages says so; the block is as good without them.
  if (block != nullptr) madvise(block, whole_pages, MADV_HUGEPAGE);
  return block;
}

}  // namespace attn
