#include "cli/shortened_file.hpp"

#include <csignal>
#include <string_view>

#include <unistd.h>

#include "attn/error.hpp"

namespace attn::cli {
namespace {

// Only what a signal handler may call.
void on_missing_page(int) {
  constexpr std::string_view message =
      "attn-cli: a file became shorter, or its disk failed, while it was read\n"
      "  help:  run again when no other program writes the input files\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message.data(), message.size());
  _exit(static_cast<int>(ErrorKind::file));
}

}  // namespace

void explain_shortened_files() {
  std::signal(SIGBUS, on_missing_page);
}

}  // namespace attn::cli
