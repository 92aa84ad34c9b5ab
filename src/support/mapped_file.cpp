#include "support/mapped_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attn/error.hpp"

#include "support/in_quotes.hpp"

namespace attn {
namespace {

class Descriptor {
 public:
  Descriptor(int number, bool owned) : number_(number), owned_(owned) {}
  ~Descriptor() {
    if (owned_ && number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }

 private:
  int number_;
  bool owned_;
};

std::string help_for(int reason) {
  switch (reason) {
    case ENOENT:
    case ENOTDIR:
      return "check the name, and the folder it is looked for in";
    case EACCES:
    case EPERM:
      return "check the permissions of the file and its folders";
    case EISDIR:
      return "name a file, not a folder";
    default:
      return "";
  }
}

[[noreturn]] void fail(const char* verb, const std::string& name, int reason) {
  throw Error(ErrorKind::file,
              std::string("cannot ") + verb + " " + name + ": " + std::strerror(reason), "",
              help_for(reason));
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const bool standard_input = path == "-";
  const std::string name = standard_input ? "standard input" : in_quotes(path.native());
  const Descriptor file(
      standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY),
      !standard_input);
  if (file.get() < 0) fail("open", name, errno);
  struct stat status {};
  if (fstat(file.get(), &status) != 0) fail("open", name, errno);
  if (S_ISDIR(status.st_mode)) fail("open", name, EISDIR);

  std::shared_ptr<MappedFile> result(new MappedFile);
  // Standard input may have been read in part by someone else, and a mapping knows nothing of that.
  if (S_ISREG(status.st_mode) && status.st_size > 0 && !standard_input) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* const address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (address != MAP_FAILED) {
      result->bytes_ = {static_cast<const std::byte*>(address), size};
      result->mapped_ = true;
      return result;
    }
  }
  result->read_all(file.get(), name);
  return result;
}

void MappedFile::read_all(int descriptor, const std::string& name) {
  constexpr std::size_t piece = std::size_t{64} << 10;
  std::size_t used = 0;
  while (true) {
    if (read_.size() - used < piece) read_.resize(std::max(2 * read_.size(), 2 * piece));
    const ssize_t count = read(descriptor, read_.data() + used, read_.size() - used);
    if (count == 0) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read", name, errno);
    used += static_cast<std::size_t>(count);
  }
  read_.resize(used);
  bytes_ = read_;
}

MappedFile::~MappedFile() {
  if (mapped_) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::string_view MappedFile::text() const noexcept {
  return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
}

}  // namespace attn
