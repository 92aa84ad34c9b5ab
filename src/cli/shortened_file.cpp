#include "cli/shortened_file.hpp"

#include <csignal>
#include <string>

#include <unistd.h>

#include "attn/error.hpp"
#include "attn/file_access.hpp"
#include "attn/language.hpp"

namespace attn::cli {
namespace {

// Made before a signal can come, as a handler must not make it.
std::string message;

// Only what a signal handler may call.
void on_missing_page(int, siginfo_t* signal, void*) {
  if (signal->si_code == BUS_ADRERR && cover_shortened_file(signal->si_addr)) return;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message.data(), message.size());
  _exit(static_cast<int>(ErrorKind::file));
}

}  // namespace

void survive_shortened_files() {
  message = translated(
      "attn-cli: a file became shorter, or its disk failed, while it was read\n"
      "  help:  run again when no other program writes the input files\n");
  struct sigaction action {};
  action.sa_sigaction = on_missing_page;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace attn::cli
