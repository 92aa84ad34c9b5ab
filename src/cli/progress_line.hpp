#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

namespace attn::cli {

/// How far a computation is, on one line of a terminal: "computing 43 %, 1.2 G scores/s, 12 s
/// left". Nothing is shown of what takes less than a second, nor where standard error is no
/// terminal.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Whether there is a terminal to show it on.
  bool shown() const noexcept { return shown_; }

  /// Called by any thread as often as it likes.
  void show(std::size_t done, std::size_t all);

  /// Takes the line away.
  void clear() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  bool shown_, drawn_ = false;
  Clock::time_point start_, next_;
  std::mutex guard_;
};

/// The line after so many seconds.
std::string progress_text(std::size_t done, std::size_t all, double seconds);

}  // namespace attn::cli
