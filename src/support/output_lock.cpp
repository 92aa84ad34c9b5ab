#include "support/output_lock.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attn/error.hpp"

#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr std::string_view lock_start = ".attn-", lock_end = ".lock";

bool is_removed(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && status.st_nlink == 0;
}

void lock_or_refuse(int descriptor, std::chrono::milliseconds patience,
                    const std::filesystem::path& path) {
  if (take_lock(descriptor, patience)) return;
  throw Error(ErrorKind::file, translated("another run is writing {1}", in_quotes(path.native())),
              "", translated("wait for it to end, or write into another folder"));
}

}  // namespace

bool take_lock(int descriptor, std::chrono::milliseconds patience) {
  using namespace std::chrono_literals;
  const auto end = std::chrono::steady_clock::now() + patience;
  for (auto pause = 1ms; flock(descriptor, LOCK_EX | LOCK_NB) != 0;
       pause = std::min(2 * pause, 100ms)) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

OutputLock OutputLock::of_folder(const std::filesystem::path& folder,
                                 std::chrono::milliseconds patience) {
  OutputLock lock;
  lock.opened_ = Descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder that can be written to need not be readable.
  if (lock.opened_.get() >= 0) lock_or_refuse(lock.opened_.get(), patience, folder);
  return lock;
}

OutputLock OutputLock::of_file(const std::filesystem::path& path) {
  constexpr std::chrono::seconds patience(2);
  const std::filesystem::path hidden =
      path.parent_path() /
      std::string(lock_start).append(path.filename().native()).append(lock_end);
  while (true) {
    OutputLock lock;
    lock.opened_ = Descriptor(open(
        hidden.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0666));
    if (lock.opened_.get() < 0) return lock;  // writing the file tells why
    lock_or_refuse(lock.opened_.get(), patience, path);
    // The run that held the lock removed the hidden file.
    if (is_removed(lock.opened_.get())) continue;
    lock.hidden_ = hidden;
    return lock;
  }
}

OutputLock::~OutputLock() {
  if (!hidden_.empty()) unlink(hidden_.c_str());
}

bool OutputLock::is_of_removed() const {
  return opened_.get() >= 0 && is_removed(opened_.get());
}

bool OutputLock::is_hidden_name(std::string_view name) {
  return name.size() > lock_start.size() + lock_end.size() && name.starts_with(lock_start) &&
         name.ends_with(lock_end);
}

}  // namespace attn
