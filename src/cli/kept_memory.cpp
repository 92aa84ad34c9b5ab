#include "cli/kept_memory.hpp"

#include <cstddef>
#include <cstdlib>  // which defines __GLIBC__ where it is
#include <limits>

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/resource.h>
#endif

#include "attn/memory.hpp"

namespace attn::cli {

void keep_freed_memory() noexcept {
  constexpr std::size_t most_kept = std::size_t{256} << 20U;
  keep_freed_tensors(most_kept);
#ifdef __GLIBC__
  constexpr int largest_block = 14 << 20U;
  constexpr int most_unused = 256 << 20U;
  mallopt(M_MMAP_THRESHOLD, largest_block);
  mallopt(M_TRIM_THRESHOLD, most_unused);
  // Each thread's own arena would take 64 MB of addresses, of which there are few then.
  rlimit addresses{};
  if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) {
    mallopt(M_ARENA_MAX, 1);
    return;
  }
  // What a thread's arena keeps; with a threshold of trimming set, glibc keeps no more there.
  constexpr int kept_by_thread = 8 << 20U;
  mallopt(M_TOP_PAD, kept_by_thread);
#endif
}

void keep_all_freed_memory() noexcept {
  keep_freed_tensors(std::numeric_limits<std::size_t>::max());
#ifdef __GLIBC__
  constexpr int unlimited = -1;
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, unlimited);
#endif
}

}  // namespace attn::cli
