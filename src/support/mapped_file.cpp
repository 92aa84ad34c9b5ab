#include "support/mapped_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/memory.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/system_error_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* problem, const std::string& name, int reason) {
  throw Error(ErrorKind::file, translated(problem, name, system_error_text(reason)), "",
              help_for_file(reason, FileUse::read));
}

[[noreturn]] void refuse_size(const std::string& name, const std::string& size,
                              std::uint64_t most) {
  throw input_error(translated("{1} is {2} large, and the limit is {3}", name, size,
                               bytes_text(static_cast<double>(most))),
                    "", translated("make it smaller, or raise the limit with Limits::file_bytes"));
}

// Refuses devices such as /dev/zero, which have no end. A terminal has one.
void refuse_endless(int descriptor, const std::string& name) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISCHR(status.st_mode) || isatty(descriptor) == 1)
    return;
  throw input_error(translated("{1} is a device, whose bytes have no end", name), "",
                    translated("name a file or a pipe"));
}

[[noreturn]] void refuse_place(const std::string& name, const fs::path& folder) {
  throw input_error(translated("{1} is not in the folder {2}, to which FileAccess::restrict_to "
                               "confines the files of documents",
                               name, in_quotes(folder.native())),
                    "", translated("put a copy of the file there"));
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

fs::path real_folder(const fs::path& folder) {
  std::error_code error;
  fs::path real = fs::canonical(folder, error);
  if (!error && !fs::is_directory(real, error) && !error) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (error) {
    throw Error(ErrorKind::file,
                translated("cannot open the folder {1}: {2}", in_quotes(folder.native()),
                           system_error_text(error.value())),
                "FileAccess::restrict_to", translated("name a folder that exists"));
  }
  return real;
}

// Opens a file that must be inside the folder. Its place is checked before, so that nothing outside
// is touched, and again afterwards, because links may have changed in between.
int open_inside(const fs::path& path, const std::string& name, const fs::path& folder) {
  const fs::path real = real_folder(folder);
  std::error_code error;
  if (path == "-" || !is_inside(fs::weakly_canonical(path, error), real) || error) {
    refuse_place(name, folder);
  }
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor < 0) return descriptor;
  Descriptor file(descriptor);
  const fs::path opened = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error);
  if (error || !is_inside(opened, real)) refuse_place(name, folder);
  struct stat status {};
  if (fstat(descriptor, &status) != 0) fail(to_translate("cannot open {1}: {2}"), name, errno);
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    throw input_error(
        translated("{1} is not a regular file, and FileAccess::restrict_to allows no others", name),
        "", translated("name a regular file"));
  }
  // Another hard link may be outside the folder, made by a user without permission to read.
  if (S_ISREG(status.st_mode) && status.st_nlink > 1) {
    throw input_error(
        translated("{1} has several names (hard links), and FileAccess::restrict_to allows but one",
                   name),
        "", translated("put a copy of the file there"));
  }
  return file.release();
}

// Part of the address space and the flag of the file that is mapped there. A signal handler reads
// it while others change it: values are valid if the version is even and the same before and after.
struct Mapping {
  std::atomic<bool> taken{false};
  std::atomic<std::uint64_t> version{0};
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::atomic<std::atomic<bool>*> shortened{nullptr};

  void set(std::uintptr_t first, std::uintptr_t last, std::atomic<bool>* flag) {
    ++version;
    begin = first;
    end = last;
    shortened = flag;
    ++version;
  }
};

std::array<Mapping, 1024> mappings;

}  // namespace

std::string help_for_file(int reason, FileUse use) {
  const bool read = use == FileUse::read;
  switch (reason) {
    case ENOENT:
    case ENOTDIR:
      return read ? translated("check the name, and the folder it is looked for in")
                  : translated("create the folder first, or check its name");
    case EISDIR:
      return translated("name a file, not a folder");
    case EACCES:
    case EPERM:
      return read ? translated("check the permissions of the file and its folders")
                  : translated(
                        "check the permissions of the folder and the file, or write elsewhere");
    case EMFILE:
      return translated("raise the limit of open files (ulimit -n)");
    default:
      break;
  }
  if (read) return "";
  switch (reason) {
    case EROFS:
      return translated("write to another place");
    case ENOSPC:
    case EDQUOT:
      return translated("free some space, or write to another disk");
    case EFBIG:
      return translated("raise the limit of file sizes (ulimit -f), or write less");
    case ENAMETOOLONG:
      return translated("choose a shorter name");
    case ELOOP:
      return translated("the symbolic links lead in a circle: remove one");
    default:
      return "";
  }
}

/// Registers a mapping for the signal handler during its lifetime.
class MappedFile::Watch {
 public:
  Watch(std::span<const std::byte> bytes, std::shared_ptr<std::atomic<bool>> shortened)
      : shortened_(std::move(shortened)) {
    mapping_ = std::find_if(mappings.begin(), mappings.end(),
                            [](Mapping& mapping) { return !mapping.taken.exchange(true); });
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    if (found()) mapping_->set(begin, begin + bytes.size(), shortened_.get());
  }
  ~Watch() {
    if (!found()) return;
    mapping_->set(0, 0, nullptr);
    mapping_->taken = false;
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// False if there was no room for this mapping.
  bool found() const { return mapping_ != mappings.end(); }

 private:
  std::shared_ptr<std::atomic<bool>> shortened_;
  std::array<Mapping, 1024>::iterator mapping_;
};

bool cover_shortened_file(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (Mapping& mapping : mappings) {
    const std::uint64_t version = mapping.version;
    const std::uintptr_t begin = mapping.begin, end = mapping.end;
    std::atomic<bool>* const shortened = mapping.shortened;
    if (mapping.version != version || version % 2 != 0 || at < begin || at >= end) continue;
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    void* const first = reinterpret_cast<void*>(at / page * page);  // NOLINT: the page of `at`
    if (mmap(first, end - at / page * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == MAP_FAILED) {
      return false;
    }
    *shortened = true;
    return true;
  }
  return false;
}

std::shared_ptr<std::atomic<bool>> MappedFiles::add(std::string name) {
  const std::lock_guard lock(guard_);
  files_.emplace_back(std::move(name), std::make_shared<std::atomic<bool>>(false));
  return files_.back().second;
}

void MappedFiles::check() const {
  const std::lock_guard lock(guard_);
  for (const auto& [name, shortened] : files_) {
    if (!*shortened) continue;
    throw Error(ErrorKind::file,
                translated("{1} became shorter, or its disk failed, while it was read", name), "",
                translated("run again when no other program writes the file"));
  }
}

MappedFile::MappedFile() = default;

void MappedFile::Free::operator()(std::byte* block) const noexcept {
  std::free(block);
}

std::shared_ptr<const MappedFile> MappedFile::open(const fs::path& path, const FileAccess& access) {
  const bool standard_input = path == "-";
  const std::string name = standard_input ? translated("standard input") : in_quotes(path.native());
  // The system would open the file whose name ends at the zero byte.
  if (path.native().find('\0') != std::string::npos) {
    throw input_error(translated("the file name {1} holds a zero byte", name), "",
                      translated("check the name"));
  }
  const int descriptor = access.restrict_to ? open_inside(path, name, *access.restrict_to)
                         : standard_input   ? STDIN_FILENO
                                            : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  const Descriptor file(descriptor, !standard_input);
  if (file.get() < 0) fail(to_translate("cannot open {1}: {2}"), name, errno);
  struct stat status {};
  if (fstat(file.get(), &status) != 0) fail(to_translate("cannot open {1}: {2}"), name, errno);
  if (S_ISDIR(status.st_mode)) fail(to_translate("cannot open {1}: {2}"), name, EISDIR);

  std::shared_ptr<MappedFile> result(new MappedFile);
  const std::uint64_t most = access.limits.file_bytes;
  if (S_ISREG(status.st_mode) && std::cmp_greater(status.st_size, most)) {
    refuse_size(name, bytes_text(static_cast<double>(status.st_size)), most);
  }
  // Another program may have read a part of standard input, which a mapping would show again.
  if (S_ISREG(status.st_mode) && status.st_size > 0 && !standard_input) {
    result->map(file.get(), static_cast<std::size_t>(status.st_size), name, access.mapped.get());
  }
  if (!result->mapped_) {
    // Only regular files have a size.
    result->read_all(file.get(), name, S_ISREG(status.st_mode) ? most : access.limits.stream_bytes);
  }
  if (access.opened) access.opened(path, result->bytes_);
  return result;
}

void MappedFile::map(int descriptor, std::size_t size, const std::string& name,
                     MappedFiles* files) {
  void* const address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) return;
  bytes_ = {static_cast<const std::byte*>(address), size};
  mapped_ = true;
  if (files != nullptr) watch_ = std::make_unique<Watch>(bytes_, files->add(name));
}

void MappedFile::read_all(int descriptor, const std::string& name, std::uint64_t most) {
  constexpr std::size_t piece = std::size_t{64} << 10;
  std::size_t room = 0;
  std::size_t used = 0;
  // The system moves large blocks without a copy, so that the memory is never needed twice.
  const auto resize = [&](std::size_t size) {
    void* const moved = std::realloc(read_.get(), size);
    if (moved == nullptr) throw std::bad_alloc();
    static_cast<void>(read_.release());
    read_.reset(static_cast<std::byte*>(moved));
    room = size;
  };
  while (true) {
    if (room - used < piece) resize(std::max(2 * room, 2 * piece));
    const ssize_t count = read(descriptor, read_.get() + used, room - used);
    if (count == 0) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(to_translate("cannot read {1}: {2}"), name, errno);
    if (used == 0) refuse_endless(descriptor, name);
    used += static_cast<std::size_t>(count);
    if (used > most)
      refuse_size(name, translated("more than {1}", bytes_text(static_cast<double>(most))), most);
  }
  resize(std::max<std::size_t>(used, 1));
  bytes_ = {read_.get(), used};
}

MappedFile::~MappedFile() {
  watch_.reset();
  if (mapped_) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::string_view MappedFile::text() const noexcept {
  return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
}

}  // namespace attn
