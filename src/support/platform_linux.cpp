#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "support/platform.hpp"

namespace attn::platform {
namespace {

namespace fs = std::filesystem;

std::string link_of(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

}  // namespace

fs::path descriptor_folder() {
  return "/proc/" + std::to_string(getpid()) + "/fd";
}

fs::path path_of(int descriptor) {
  std::error_code none;
  return fs::read_symlink(link_of(descriptor), none);
}

bool is_made_while_read(int descriptor) {
  struct statfs system {};
  if (fstatfs(descriptor, &system) != 0) return false;
  constexpr unsigned long kinds[] = {PROC_SUPER_MAGIC,    SYSFS_MAGIC,         DEBUGFS_MAGIC,
                                     TRACEFS_MAGIC,       SECURITYFS_MAGIC,    CGROUP_SUPER_MAGIC,
                                     CGROUP2_SUPER_MAGIC, BINDERFS_SUPER_MAGIC};
  return std::find(std::begin(kinds), std::end(kinds), static_cast<unsigned long>(system.f_type)) !=
         std::end(kinds);
}

// Not every file system has such files, and naming them later needs /proc.
int open_without_name(const fs::path& folder) {
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor < 0 || access(link_of(descriptor).c_str(), F_OK) == 0) return descriptor;
  close(descriptor);
  return -1;
}

bool give_name(int descriptor, const fs::path& name) {
  return linkat(AT_FDCWD, link_of(descriptor).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) ==
         0;
}

bool set_direct(int descriptor, bool direct) noexcept {
  const int flags = fcntl(descriptor, F_GETFL);
  return flags >= 0 &&
         fcntl(descriptor, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

void begin_sync(int descriptor) noexcept {
  // From the beginning to the end.
  sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
}

int sync_file_system(int descriptor) noexcept {
  return syncfs(descriptor);
}

timespec changed(const struct stat& status) noexcept {
  return status.st_mtim;
}

void prefer_large_pages(void* block, std::size_t bytes) noexcept {
  madvise(block, bytes, MADV_HUGEPAGE);
}

std::optional<std::size_t> stack_left() noexcept {
#ifdef __GLIBC__
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return std::nullopt;
  void* lowest = nullptr;
  std::size_t size = 0;
  const int result = pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  if (result != 0) return std::nullopt;
  const char here = 0;
  const auto at = reinterpret_cast<std::uintptr_t>(&here);
  const auto end = reinterpret_cast<std::uintptr_t>(lowest);
  return at > end ? at - end : 0;
#else
  return std::nullopt;
#endif
}

}  // namespace attn::platform
