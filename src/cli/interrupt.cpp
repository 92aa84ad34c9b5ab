#include "cli/interrupt.hpp"

#include <csignal>
#include <string_view>

#include <unistd.h>

namespace attn::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers may not wait");

void on_signal(int) {
  constexpr int exit_code = 130;
  if (interrupted.exchange(true)) _exit(exit_code);
  constexpr std::string_view message =
      "\nattn-cli: finishing what is under way; once more stops at once\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message.data(), message.size());
}

}  // namespace

const std::atomic<bool>& stop_at_interrupt() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  return interrupted;
}

}  // namespace attn::cli
