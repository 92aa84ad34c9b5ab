#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>

namespace attn::cli {

/// A line of the terminal that changes while something goes on. Nothing is shown where standard
/// error is no terminal.
class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;

  /// It appears after `delay` and changes at most once in each `interval`.
  ProgressLine(bool quiet, Clock::duration delay, Clock::duration interval);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Whether there is a terminal to show it on.
  bool shown() const noexcept { return shown_; }

  /// Called by any thread as often as it likes; `text` is asked for when it is to be shown, which
  /// the last one always is.
  void show(const std::function<std::string()>& text, bool last = false);

  /// Takes the line away until it is shown again.
  void clear() noexcept;

 private:
  bool shown_, drawn_ = false;
  Clock::duration interval_;
  Clock::time_point next_;
  std::mutex guard_;
};

/// The terminal's columns; 80 if nobody knows.
std::size_t terminal_columns();

/// "computing 43 %, 1.2 G scores/s, 12 s left": of so many scores after so many seconds.
std::string progress_text(std::size_t done, std::size_t all, double seconds);

/// "12 s", "3 min", "2 h"
std::string duration_text(double seconds);

/// "4.2", "980", "1.2 k": of things each second.
std::string rate_text(double each_second);

}  // namespace attn::cli
