#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <pthread.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <unistd.h>

#include "support/platform.hpp"

namespace attn::platform {

namespace fs = std::filesystem;

fs::path descriptor_folder() {
  return "/dev/fd";
}

fs::path path_of(int descriptor) {
  std::array<char, MAXPATHLEN> path{};
  return fcntl(descriptor, F_GETPATH, path.data()) == 0 ? fs::path(path.data()) : fs::path();
}

// There is no /proc; the names of devices and of open files are such a file system.
bool is_made_while_read(int descriptor) {
  struct statfs system {};
  return fstatfs(descriptor, &system) == 0 && (std::strcmp(system.f_fstypename, "devfs") == 0 ||
                                               std::strcmp(system.f_fstypename, "fdesc") == 0);
}

int open_without_name(const fs::path& /*folder*/) {
  return -1;
}

bool give_name(int /*descriptor*/, const fs::path& /*name*/) {
  errno = ENOTSUP;
  return false;
}

bool set_direct(int descriptor, bool direct) noexcept {
  return fcntl(descriptor, F_NOCACHE, direct ? 1 : 0) == 0;
}

void begin_sync(int /*descriptor*/) noexcept {}

// Waits for the disk's own memory too, which fsync() does not here.
int sync_file_system(int descriptor) noexcept {
  ::sync();
  return fcntl(descriptor, F_FULLFSYNC);
}

timespec changed(const struct stat& status) noexcept {
  return status.st_mtimespec;
}

void prefer_large_pages(void* /*block*/, std::size_t /*bytes*/) noexcept {}

std::optional<std::size_t> stack_left() noexcept {
  const char here = 0;
  const auto highest = reinterpret_cast<std::uintptr_t>(pthread_get_stackaddr_np(pthread_self()));
  const auto end = highest - pthread_get_stacksize_np(pthread_self());
  const auto at = reinterpret_cast<std::uintptr_t>(&here);
  return at > end ? at - end : 0;
}

}  // namespace attn::platform
