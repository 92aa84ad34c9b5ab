#pragma once

#include <atomic>

namespace attn::cli {

/// From now on the first SIGINT (Ctrl-C) or SIGTERM (of a batch system) only sets the flag, so that
/// what is under way can be finished; the second one ends the program at once with exit code 130.
const std::atomic<bool>& stop_at_interrupt();

}  // namespace attn::cli
