#include "support/mapped_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "support/errors.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
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

struct MappedFiles::Opened {
  std::mutex guard;
  std::vector<std::pair<std::string, std::shared_ptr<std::atomic<bool>>>> files;
  std::map<std::pair<dev_t, ino_t>, std::string> names;  // of regular files, for messages
};

MappedFiles::MappedFiles(std::shared_ptr<const MappedFiles> outer)
    : outer_(std::move(outer)), opened_(std::make_unique<Opened>()) {}
MappedFiles::~MappedFiles() = default;

std::shared_ptr<std::atomic<bool>> MappedFiles::watch(std::string name) {
  const std::lock_guard lock(opened_->guard);
  opened_->files.emplace_back(std::move(name), std::make_shared<std::atomic<bool>>(false));
  return opened_->files.back().second;
}

void MappedFiles::check() const {
  const std::lock_guard lock(opened_->guard);
  for (const auto& [name, shortened] : opened_->files) {
    if (!*shortened) continue;
    throw Error(ErrorKind::file,
                translated("{1} became shorter, or its disk failed, while it was read", name), "",
                translated("run again when no other program writes the file"));
  }
}

void MappedFiles::add(const std::string& name, const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return;
  const std::lock_guard lock(opened_->guard);
  opened_->names.try_emplace({status.st_dev, status.st_ino}, name);
}

void MappedFiles::add(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) add(in_quotes(path.native()), status);
}

void MappedFiles::add(const MappedFiles& others) {
  const std::scoped_lock lock(opened_->guard, others.opened_->guard);
  opened_->names.insert(others.opened_->names.begin(), others.opened_->names.end());
}

std::optional<std::string> MappedFiles::input_at(const fs::path& path) const {
  if (outer_) {
    if (auto name = outer_->input_at(path)) return name;
  }
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  const std::lock_guard lock(opened_->guard);
  const auto read = opened_->names.find({status.st_dev, status.st_ino});
  return read == opened_->names.end() ? std::nullopt : std::optional(read->second);
}

void MappedFiles::refuse_output(const fs::path& path) const {
  const std::optional<std::string> input = input_at(path);
  if (!input) return;
  throw Error(ErrorKind::usage,
              translated("the output {1} would replace {2}, from which it is made",
                         in_quotes(path.native()), *input),
              "", translated("write to another file or folder"));
}

MappedFile::MappedFile() = default;

void MappedFile::Free::operator()(std::byte* block) const noexcept {
  std::free(block);
}

std::shared_ptr<const MappedFile> MappedFile::open(const FileName& path, const FileAccess& access) {
  const std::string name = path.text();
  const OpenedFile opened = open_file(path, access);
  const Descriptor& file = opened.descriptor;
  const struct stat& status = opened.status;
  if (access.mapped) access.mapped->add(name, status);

  std::shared_ptr<MappedFile> result(new MappedFile);
  const std::uint64_t most = access.limits.file_bytes;
  if (S_ISREG(status.st_mode) && std::cmp_greater(status.st_size, most)) {
    refuse_size(name, bytes_text(static_cast<double>(status.st_size)), most);
  }
  // Another program may have read a part of standard input, which a mapping would show again.
  if (S_ISREG(status.st_mode) && status.st_size > 0 && !path.is_standard_input()) {
    result->map(file.get(), static_cast<std::size_t>(status.st_size), name, access.mapped.get());
  }
  if (!result->mapped_) {
    // Only regular files have a size.
    result->read_all(file.get(), name, S_ISREG(status.st_mode) ? most : access.limits.stream_bytes);
  }
  if (access.opened) access.opened(path.path(), result->bytes_);
  return result;
}

void MappedFile::map(int descriptor, std::size_t size, const std::string& name,
                     MappedFiles* files) {
  void* const address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) return;
  bytes_ = {static_cast<const std::byte*>(address), size};
  mapped_ = true;
  if (files != nullptr) watch_ = std::make_unique<Watch>(bytes_, files->watch(name));
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
