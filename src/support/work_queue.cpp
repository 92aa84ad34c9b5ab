#include "support/work_queue.hpp"

#include <system_error>

namespace attn {

ThreadBeside::ThreadBeside() noexcept = default;
ThreadBeside::~ThreadBeside() = default;

void ThreadBeside::begin(std::function<void()> work) {
  try {
    thread_ = std::thread(std::move(work));
  } catch (const std::system_error&) {
    // The owner does the work itself.
  }
}

bool ThreadBeside::joinable() const noexcept {
  return thread_.joinable();
}

void ThreadBeside::join() {
  thread_.join();
}

}  // namespace attn
