#include "support/memory.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>  // which defines __GLIBC__ where it is
#include <fstream>
#include <iterator>
#include <limits>
#include <mutex>
#include <sstream>
#include <system_error>

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "attn/error.hpp"
#include "attn/memory.hpp"

#include "support/number_text.hpp"
#include "support/platform.hpp"

namespace attn {
namespace {

constexpr std::size_t large_page = std::size_t{2} << 20U;

// Size of a block from malloc in bytes; 0 where malloc does not give it, so that no block is kept.
std::size_t size_of(void* block) noexcept {
#ifdef __GLIBC__
  return malloc_usable_size(block);
#else
  static_cast<void>(block);
  return 0;
#endif
}

// Freed blocks that are kept for later use. The C library itself would not find a freed block again
// for one of the same size: it looks for room for the alignment besides, so that the memory in use
// would grow from layer to layer of a model.
class KeptBlocks {
 public:
  static constexpr std::size_t least = std::size_t{128} << 10U;

  void set_limit(std::size_t bytes) noexcept {
    const std::lock_guard lock(guard_);
    limit_ = bytes;
    most_in_use_ = in_use_;
    while (bytes_ > limit_) give_back_oldest();
  }

  // Smallest block of at least `bytes` and less than 1.5 times as much. Otherwise makes room for a
  // new one and returns null.
  void* take(std::size_t bytes) noexcept {
    const std::lock_guard lock(guard_);
    Block* best = nullptr;
    for (std::size_t i = 0; i < count_; ++i) {
      Block& one = blocks_[i];
      if (one.size < bytes || one.size - bytes > bytes / 2) continue;
      if (best == nullptr || one.size < best->size) best = &one;
    }
    if (best == nullptr) {
      // Sizes that alternate, such as those of a layer, would drive each other out if there were
      // room for no more than was in use.
      const std::size_t most = std::max(most_in_use_, in_use_ + bytes);
      while (count_ > 0 && in_use_ + bytes_ + bytes > most + most / 2) give_back_oldest();
      return nullptr;
    }
    void* const block = best->address;
    const std::size_t size = best->size;
    remove(best);
    use(size);
    return block;
  }

  // Counts a block that was made because none fitted.
  void add(std::size_t size) noexcept {
    const std::lock_guard lock(guard_);
    use(size);
  }

  // Returns whether there was any.
  bool give_back_all() noexcept {
    const std::lock_guard lock(guard_);
    const bool any = count_ > 0;
    while (count_ > 0) give_back_oldest();
    return any;
  }

  bool keep(void* block, std::size_t size) noexcept {
    const std::lock_guard lock(guard_);
    in_use_ -= std::min(in_use_, size);
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

  void use(std::size_t size) noexcept {
    in_use_ += size;
    most_in_use_ = std::max(most_in_use_, in_use_);
  }
  void remove(Block* block) noexcept {
    bytes_ -= block->size;
    std::move(block + 1, blocks_.data() + count_, block);
    --count_;
  }
  void give_back_oldest() noexcept {
    std::free(blocks_[0].address);
    remove(blocks_.data());
  }

  std::mutex guard_;
  std::array<Block, 512> blocks_{};  // the oldest first; 64 threads kept 164
  std::size_t count_ = 0, bytes_ = 0, limit_ = 0;
  std::size_t in_use_ = 0, most_in_use_ = 0;  // bytes of large blocks
};

// Never destroyed, because tensors may be freed until the end of the process.
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
  // Blocks of several large pages begin and end at large pages, so that no part uses small pages.
  // For smaller blocks the gaps between them would cost more.
  const std::size_t unit = bytes >= 2 * large_page ? large_page : line;
  if (bytes > SIZE_MAX - unit) return nullptr;
  const std::size_t size = (bytes + unit - 1) / unit * unit;
  void* block = std::aligned_alloc(unit, size);
  if (block == nullptr && kept_blocks().give_back_all()) block = std::aligned_alloc(unit, size);
  if (block == nullptr) return block;
  if (bytes >= large_page) {
    // Only a hint for the whole pages of the block: without large pages it is as usable.
    const std::size_t before = reinterpret_cast<std::uintptr_t>(block) % small_page;
    platform::prefer_large_pages(static_cast<char*>(block) - before, before + size);
  }
  if (const std::size_t whole = size_of(block); whole >= KeptBlocks::least)
    kept_blocks().add(whole);
  return block;
}

void free_block(void* block) noexcept {
  if (block == nullptr) return;
  const std::size_t size = size_of(block);
  if (size >= KeptBlocks::least && kept_blocks().keep(block, size)) return;
  std::free(block);
}

namespace {

// Memory of the machine in bytes; 0 if unknown. Asked once, which takes longer than most checks.
double machine_memory() {
  static const double memory = [] {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? static_cast<double>(pages) * static_cast<double>(page) : 0;
  }();
  return memory;
}

// Limit of the process's control groups in bytes; 0 if there is none. Read once.
double group_memory() {
  static const double memory = [] {
    std::ifstream file("/proc/self/cgroup");
    const std::string membership(std::istreambuf_iterator<char>(file), {});
    return group_memory_limit(membership, "/sys/fs/cgroup").value_or(0);
  }();
  return memory;
}

}  // namespace

void check_memory(std::size_t elements, std::size_t bytes_each, const std::string& what,
                  const std::string& where, const std::string& help) {
  check_memory(static_cast<double>(elements) * static_cast<double>(bytes_each), what, where, help);
}

void check_memory(double bytes, const std::string& what, const std::string& where,
                  const std::string& help) {
  const auto refuse = [&](const std::string& limit, double memory) {
    throw input_error(translated("{1} would take {2}, more than {3}{4}", what, bytes_text(bytes),
                                 limit, bytes_text(memory)),
                      where, translated(help));
  };
  if (const double memory = machine_memory(); memory > 0 && bytes > memory) {
    refuse(translated("the memory of this machine, "), memory);
  }
  if (const double memory = group_memory(); memory > 0 && bytes > memory) {
    refuse(translated("the memory of this program's control group, "), memory);
  }
  if (const auto limit = address_space_limit(); limit && bytes > static_cast<double>(*limit))
    refuse(translated("the memory that this program may use, "), static_cast<double>(*limit));
}

double usable_memory() {
  double least = std::numeric_limits<double>::infinity();
  for (const double memory :
       {machine_memory(), group_memory(), static_cast<double>(address_space_limit().value_or(0))}) {
    if (memory > 0) least = std::min(least, memory);
  }
  return least;
}

std::optional<std::size_t> address_space_limit() noexcept {
  rlimit own{};
  if (getrlimit(RLIMIT_AS, &own) != 0 || own.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return own.rlim_cur;
}

bool can_be_mapped(std::size_t bytes) noexcept {
  void* const block = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return block != MAP_FAILED && munmap(block, bytes) == 0;
}

namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::optional<double> group_memory_limit(const std::string& membership,
                                         const std::filesystem::path& mounted) {
  std::optional<double> least;
  const auto read = [&](const std::filesystem::path& file) {
    // "max" in version 2; version 1 says there is no limit by a number beyond any memory.
    double bytes = 0;
    const std::string text = content_of(file);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
    if (error == std::errc()) least = std::min(least.value_or(bytes), bytes);
  };
  // Lines "number:controllers:path"; version 2 names no controllers.
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool unified = controllers == ",,";
    if (!unified && controllers.find(",memory,") == std::string::npos) continue;
    const std::filesystem::path root = unified ? mounted : mounted / "memory";
    const char* const name = unified ? "memory.max" : "memory.limit_in_bytes";
    // Limits of outer groups hold too. Within a container the path may be that outside of it.
    std::filesystem::path path = std::filesystem::path(line.substr(second + 1)).relative_path();
    for (; !path.empty(); path = path.parent_path()) read(root / path / name);
    read(root / name);
  }
  return least;
}

}  // namespace attn
