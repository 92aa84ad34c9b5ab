#include "cli/output.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "attn/error.hpp"
#include "attn/language.hpp"

#include "cli/flags_of_fields.hpp"

namespace attn::cli {
namespace {

// 0, or the error number of the first failing write.
int write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

void occupy_closed_streams() noexcept {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest number that is free is this one, as those below it are taken.
    [[maybe_unused]] const int taken =
        open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void print(std::string_view text) {
  const int failure = write_all(STDOUT_FILENO, text);
  if (failure == 0 || failure == EPIPE || failure == EBADF) return;
  throw Error(ErrorKind::file,
              translated("cannot write to standard output: {1}", std::strerror(failure)), "",
              translated("check where the output is sent"));
}

void warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    complain(translated("warning: {1}", with_flags(warning)));
}

void show(std::string_view text) noexcept {
  write_all(STDERR_FILENO, text);
}

void complain(std::string_view text) noexcept {
  write_all(STDERR_FILENO, "attn-cli: ");
  write_all(STDERR_FILENO, text);
  write_all(STDERR_FILENO, "\n");
}

}  // namespace attn::cli
