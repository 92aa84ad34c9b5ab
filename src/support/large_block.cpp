#include "support/large_block.hpp"

#include <cstdint>

#include <sys/mman.h>

namespace attn {

void* allocate_block(std::size_t bytes) noexcept {
  constexpr std::size_t line = 64, small_page = 4096, large_page = std::size_t{2} << 20U;
  // Blocks of several large pages begin with one and end with one, so that none of them is made of
  // small pages; among smaller ones the gaps that this leaves would weigh more.
  const bool whole = bytes >= 4 * large_page;
  const std::size_t unit = whole ? large_page : line;
  if (bytes > SIZE_MAX - unit) return nullptr;
  const std::size_t size = (bytes + unit - 1) / unit * unit;
  void* block = std::aligned_alloc(unit, size);
  if (block == nullptr || bytes < large_page) return block;
  // Whole pages of the block. A system without large pages says so; the block is as good.
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t first = address / small_page * small_page;
  madvise(reinterpret_cast<void*>(first), address + size - first, MADV_HUGEPAGE);
  return block;
}

}  // namespace attn
