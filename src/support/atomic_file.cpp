#include "support/atomic_file.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <random>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attn/error.hpp"

#include "support/errors.hpp"
#include "support/file_opening.hpp"
#include "support/number_text.hpp"
#include "support/output_lock.hpp"
#include "support/platform.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

// Descriptor of an open file of this process that a path names, as /dev/stdout and /dev/fd/3 do.
std::optional<int> own_descriptor(const fs::path& path) {
  std::error_code ignored;
  const fs::path folder = fs::canonical(folder_of(path), ignored);
  if (ignored || folder != platform::descriptor_folder()) return std::nullopt;
  const std::string name = path.filename();
  int number = -1;
  if (!parse_number(name, number)) return std::nullopt;
  return number;
}

// End of the chain of symbolic links from `path`, which need not exist.
struct Destination {
  fs::path target;
  std::optional<int> descriptor;
  int reason = 0;
};

Destination follow_links(fs::path path) {
  constexpr int most_links = 40;
  for (int links = 0; links < most_links; ++links) {
    if (const auto number = own_descriptor(path)) return {{}, number, 0};
    std::error_code error;
    const fs::path next = fs::read_symlink(path, error);
    if (error) return {path, std::nullopt, 0};
    path = next.is_absolute() ? next : folder_of(path) / next;
  }
  return {{}, std::nullopt, ELOOP};
}

constexpr std::string_view hidden_start = ".attn-", hidden_end = ".part";

// Hidden name that no other file of the folder is likely to have.
fs::path hidden_name(const fs::path& target) {
  std::random_device random;
  const std::string digits = hexadecimal(random(), 8) + hexadecimal(random(), 8);
  return folder_of(target) / (std::string(hidden_start) + digits).append(hidden_end);
}

// Marks a file as one that a running program writes. Not every file system has locks.
bool lock(int descriptor) {
  return flock(descriptor, LOCK_EX | LOCK_NB) == 0;
}

// Whether a call failed that waits for the disk. Not every file system can wait.
bool sync_failed(int outcome) {
  return outcome != 0 && errno != EINVAL && errno != ENOSYS;
}

void sync_opened(const fs::path& folder, int (*sync)(int)) {
  const Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder that can be written to need not be readable.
  if (opened.get() < 0 || !sync_failed(sync(opened.get()))) return;
  const int reason = errno;
  throw Error(
      ErrorKind::file,
      translated("cannot write {1}: {2}", in_quotes(folder.native()), system_error_text(reason)),
      "", help_for_file(reason, FileUse::write));
}

bool has_a_name(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) != 0 || status.st_nlink > 0;
}

}  // namespace

NewFolders::NewFolders(const fs::path& folder, std::error_code& error) {
  // Another program may remove an empty folder before the next one is made in it.
  constexpr int attempts = 100;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    std::vector<fs::path> missing;
    for (fs::path at = folder; !at.empty() && !fs::exists(at, error); at = at.parent_path()) {
      missing.push_back(at);
    }
    error.clear();
    for (auto at = missing.rbegin(); at != missing.rend() && !error; ++at) {
      if (fs::create_directory(*at, error)) made_.push_back(*at);
    }
    if (error != std::errc::no_such_file_or_directory) return;
  }
}

NewFolders::~NewFolders() {
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) rmdir(folder->c_str());
}

void NewFolders::add(NewFolders inner) {
  for (fs::path& folder : inner.made_) made_.push_back(std::move(folder));
  inner.keep();
}

// Pieces of which a file is written directly: systems take whole blocks of memory and of the disk.
class AtomicFile::DirectPieces {
 public:
  // Copies the first bytes into the piece, and removes them.
  void take(std::string_view& bytes) noexcept {
    const std::size_t count = std::min(bytes.size(), size - held_);
    std::copy_n(bytes.data(), count, room_.get() + held_);
    held_ += count;
    bytes.remove_prefix(count);
  }
  bool direct = true;  // until the file system refuses
  bool ready() const noexcept { return room_ != nullptr; }
  bool full() const noexcept { return held_ == size; }
  std::string_view held() const noexcept { return {room_.get(), held_}; }

  // The piece was written in that time. False where new pages of the cache would have cost less
  // than the disk does, beyond some fluctuation.
  bool was_fast(std::chrono::duration<double> time) noexcept {
    constexpr double allowance = 0.1, least_rate = 2.5e8;  // seconds, bytes per second
    held_ = 0;
    ++written_;
    seconds_ += time.count();
    return seconds_ < allowance + static_cast<double>(written_ * size) / least_rate;
  }

 private:
  static constexpr std::size_t size = std::size_t{1} << 20U, page = 4096;
  struct Free {
    void operator()(char* block) const noexcept { std::free(block); }
  };

  std::unique_ptr<char, Free> room_{static_cast<char*>(std::aligned_alloc(page, size))};
  std::size_t held_ = 0, written_ = 0;
  double seconds_ = 0;
};

AtomicFile::AtomicFile(fs::path path, Existing existing) : path_(std::move(path)), target_(path_) {
  if (existing == Existing::followed && !find_target()) return;
  if (target_.empty()) fail(ENOENT);
  if (existing == Existing::followed) {
    std::error_code error;
    folders_ = NewFolders(folder_of(path_), error);
    if (error) fail(error.value());
  }
  struct stat status {};
  if (lstat(target_.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) fail(EISDIR);
    replaces_ = true;
    if (S_ISREG(status.st_mode)) {
      // A rename needs permissions of the folder only, but read-only files must stay.
      if (faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) fail(errno);
      kept_mode_ = status.st_mode & 0777;
    } else if (existing == Existing::followed) {
      descriptor_ = open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
      if (descriptor_ < 0) fail(errno);
      target_.clear();
      return;
    }
  } else if (errno != ENOENT) {
    fail(errno);
  } else if (!target_.has_filename()) {
    fail(EISDIR);
  }
  open_temporary();
}

// Follows the path's links; false if they lead to an open file of this process.
bool AtomicFile::find_target() {
  Destination destination = follow_links(path_);
  if (destination.reason != 0) fail(destination.reason);
  target_ = std::move(destination.target);
  if (!destination.descriptor) return true;
  // Opening the file again would start at its beginning.
  descriptor_ = fcntl(*destination.descriptor, F_DUPFD_CLOEXEC, 0);
  if (descriptor_ < 0) fail(errno);
  return false;
}

void AtomicFile::open_temporary() {
  descriptor_ = platform::open_without_name(folder_of(target_));
  if (descriptor_ >= 0) lock(descriptor_);
  while (descriptor_ < 0) {
    temporary_ = hidden_name(target_);
    descriptor_ = open(temporary_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) {
      const int reason = errno;
      temporary_.clear();
      fail(reason);
    }
    // remove_leftovers() may have removed it before it was locked.
    if (descriptor_ >= 0 && lock(descriptor_) && !has_a_name(descriptor_)) {
      close(std::exchange(descriptor_, -1));
    }
  }
  if (kept_mode_ && fchmod(descriptor_, *kept_mode_) != 0) {
    const int reason = errno;
    close(descriptor_);
    if (!temporary_.empty()) unlink(temporary_.c_str());
    fail(reason);
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  while (pieces_ && !bytes.empty()) {
    pieces_->take(bytes);
    if (!pieces_->full()) return;
    const auto begin = std::chrono::steady_clock::now();
    write_at_once(pieces_->held());
    if (!pieces_->was_fast(std::chrono::steady_clock::now() - begin)) end_direct();
  }
  write_at_once(bytes);
}

void AtomicFile::write_at_once(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    // Where a file system takes no direct writes, or only a part of a piece was written.
    if (count < 0 && (errno == EINVAL || errno == EOPNOTSUPP) && pieces_ &&
        std::exchange(pieces_->direct, false) && platform::set_direct(descriptor_, false)) {
      continue;
    }
    if (count < 0) fail(errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void AtomicFile::begin_direct() {
  if (target_.empty() || !platform::set_direct(descriptor_, true)) return;
  pieces_ = std::make_unique<DirectPieces>();
  if (!pieces_->ready()) end_direct();
}

bool AtomicFile::end_direct() {
  const std::unique_ptr<DirectPieces> last = std::move(pieces_);
  if (!last) return false;
  platform::set_direct(descriptor_, false);
  write_at_once(last->held());
  return last->direct;
}

void AtomicFile::begin_sync() noexcept {
  platform::begin_sync(descriptor_);  // sync() reports what fails
}

void AtomicFile::sync() {
  end_direct();
  if (sync_failed(fsync(descriptor_))) fail(errno);
}

void AtomicFile::set_aside() {
  if (target_.empty() || descriptor_ < 0) return;
  end_direct();
  if (temporary_.empty()) take_hidden_name();
  close_whole();
  close(std::exchange(descriptor_, -1));
}

void AtomicFile::commit() {
  end_direct();
  if (descriptor_ >= 0) close_whole();
  if (!target_.empty()) link_into_place();
  folders_.keep();
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
}

// Some file systems report a full disk only when a descriptor is closed. Closing a copy leaves the
// file open for the link.
void AtomicFile::close_whole() {
  const int copy = fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || close(copy) != 0) fail(errno);
}

void AtomicFile::take_hidden_name() {
  fs::path name = hidden_name(target_);
  while (!platform::give_name(descriptor_, name)) {
    if (errno != EEXIST) fail(errno);
    name = hidden_name(target_);
  }
  temporary_ = std::move(name);
}

void AtomicFile::link_into_place() {
  if (temporary_.empty()) {
    if (!replaces_) {
      if (platform::give_name(descriptor_, target_)) return;
      if (errno != EEXIST) fail(errno);
    }
    take_hidden_name();
  }
  if (rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void AtomicFile::fail(int reason) const {
  throw Error(
      ErrorKind::file,
      translated("cannot write {1}: {2}", in_quotes(path_.native()), system_error_text(reason)), "",
      help_for_file(reason, FileUse::write));
}

void write_whole_file(const fs::path& path, std::string_view bytes, Existing existing) {
  AtomicFile file(path, existing);
  file.write(bytes);
  file.commit();
}

void sync_folder(const fs::path& folder) {
  sync_opened(folder, fsync);
}

void sync_file_system(const fs::path& folder) {
  sync_opened(folder, platform::sync_file_system);
}

void remove_leftovers(const fs::path& folder) {
  Descriptor opened(-1);
  constexpr std::size_t digits = 16;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    const bool unfinished = name.size() == hidden_start.size() + digits + hidden_end.size() &&
                            name.starts_with(hidden_start) && name.ends_with(hidden_end);
    if (!unfinished && !OutputLock::is_hidden_name(name)) continue;
    // A run that replaces many files of the folder does not keep all of them open and locked.
    if (opened.get() < 0) {
      opened = Descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (opened.get() >= 0 && !take_lock(opened.get())) return;
    }
    const int file =
        open(entry->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) continue;
    if (lock(file)) unlink(entry->path().c_str());
    close(file);
  }
}

}  // namespace attn
