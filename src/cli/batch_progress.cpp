#include "cli/batch_progress.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <sys/ioctl.h>
#include <unistd.h>

#include "attn/error.hpp"

#include "cli/output.hpp"

namespace attn::cli {
namespace {

constexpr std::chrono::milliseconds bar_interval{100};
constexpr std::chrono::seconds line_interval{5};
// Failures beyond this many are only counted; the summary has them all.
constexpr std::size_t most_failures_told = 20;
constexpr const char* clear_line = "\r\x1b[K";

std::size_t columns() {
  winsize size{};
  constexpr std::size_t usual = 80;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return usual;
  return size.ws_col;
}

// "0:07", "12:34", "3:00:00".
std::string clock_text(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(seconds));
  const long long hours = whole / 3600, minutes = whole / 60 % 60;
  char text[64];
  if (hours > 0) {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", hours, minutes, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%lld:%02lld", minutes, whole % 60);
  }
  return text;
}

}  // namespace

BatchProgress::BatchProgress(const Common& common)
    : quiet_(common.quiet), terminal_(isatty(STDERR_FILENO) == 1) {}

std::string BatchProgress::state(const BatchCounts& counts) const {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const std::size_t computed = counts.done + counts.failed;
  std::string text =
      std::to_string(counts.items - counts.left()) + "/" + std::to_string(counts.items);
  if (computed > 0 && seconds > 0) {
    const double rate = static_cast<double>(computed) / seconds;
    char rate_text[64];
    std::snprintf(rate_text, sizeof rate_text, "  %.*f/s", rate < 10 ? 1 : 0, rate);
    text += rate_text;
    text += "  " + clock_text(static_cast<double>(counts.left()) / rate) + " left";
  }
  if (counts.failed > 0) text += "  " + std::to_string(counts.failed) + " failed";
  return text;
}

std::string BatchProgress::bar(const BatchCounts& counts) const {
  const std::string text = state(counts);
  const std::size_t width = columns(), around = text.size() + 5;
  if (width < around + 10) return text.substr(0, width - 1);
  const std::size_t room = std::min<std::size_t>(width - around, 40);
  const std::size_t filled = room * (counts.items - counts.left()) / counts.items;
  return "[" + std::string(filled, '#') + std::string(room - filled, ' ') + "] " + text;
}

void BatchProgress::update(const BatchItem& item, const BatchCounts& counts) {
  if (quiet_) return;
  if (item.error && failures_told_ < most_failures_told) {
    ++failures_told_;
    if (drawn_) show(clear_line);
    const Error& error = *item.error;
    complain(Error(error.kind(), item.name + ": " + error.problem(), error.where(), error.help())
                 .what());
    if (failures_told_ == most_failures_told) {
      complain("further failures are only counted here; the summary has them all");
    }
  }
  const auto now = Clock::now();
  if (terminal_) {
    if (drawn_ && now - shown_ < bar_interval && counts.left() > 0) return;
    show(clear_line + bar(counts));
    drawn_ = true;
    shown_ = now;
  } else if (now - shown_ >= line_interval) {
    complain(state(counts));
    shown_ = now;
  }
}

void BatchProgress::finish() {
  if (drawn_) show(clear_line);
}

}  // namespace attn::cli
