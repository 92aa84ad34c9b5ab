#include "cli/interrupt.hpp"

#include <csignal>
#include <string>

#include <unistd.h>

#include "attn/language.hpp"

namespace attn::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers may not wait");

// Made before a signal can come, as a handler must not make it.
std::string message;

void on_signal(int) {
  constexpr int exit_code = 130;
  if (interrupted.exchange(true)) _exit(exit_code);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message.data(), message.size());
}

}  // namespace

const std::atomic<bool>& stop_at_interrupt() {
  message = translated("\nattn-cli: finishing what is under way; once more stops at once\n");
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  return interrupted;
}

}  // namespace attn::cli
