#include "cli/progress_line.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include <sys/ioctl.h>
#include <unistd.h>

#include "attn/language.hpp"

#include "cli/output.hpp"

namespace attn::cli {
namespace {

constexpr const char* start_of_line = "\r\x1b[K";

}  // namespace

std::size_t terminal_columns() {
  winsize size{};
  constexpr std::size_t usual = 80;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return usual;
  return size.ws_col;
}

std::string duration_text(double seconds) {
  constexpr double minute = 60, hour = 3600;
  const auto text = [](double count, const char* unit) {
    return std::to_string(static_cast<long long>(std::ceil(count))) + " " + unit;
  };
  if (seconds < 2 * minute) return text(seconds, "s");
  if (seconds < 2 * hour) return text(seconds / minute, "min");
  return text(std::min(seconds / hour, 1e6), "h");
}

std::string rate_text(double each_second) {
  constexpr std::array<const char*, 5> units{"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  for (; each_second >= 999.5 && unit + 1 < units.size(); ++unit) each_second /= 1000;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g%s", each_second, units[unit]);
  return text.data();
}

std::string progress_text(std::size_t done, std::size_t all, double seconds) {
  done = std::min(done, all);
  const double share =
      static_cast<double>(done) / static_cast<double>(std::max<std::size_t>(all, 1));
  const int percent = static_cast<int>(100 * share);
  if (done == 0 || seconds <= 0) return translated("computing {1} %", percent);
  const std::string rate = rate_text(static_cast<double>(done) / seconds);
  return done < all ? translated("computing {1} %, {2} scores/s, {3} left", percent, rate,
                                 duration_text(seconds * (1 - share) / share))
                    : translated("computing {1} %, {2} scores/s", percent, rate);
}

ProgressLine::ProgressLine(bool quiet, Clock::duration delay, Clock::duration interval)
    : shown_(!quiet && isatty(STDERR_FILENO) == 1),
      interval_(interval),
      next_(Clock::now() + delay) {}

void ProgressLine::show(const std::function<std::string()>& text, bool last) {
  if (!shown_) return;
  // Whoever finds another one drawing goes on computing.
  const std::unique_lock lock(guard_, std::try_to_lock);
  const Clock::time_point now = Clock::now();
  if (!lock || (now < next_ && !last)) return;
  next_ = now + interval_;
  drawn_ = true;
  attn::cli::show(start_of_line + text());
}

void ProgressLine::clear() noexcept {
  const std::lock_guard lock(guard_);
  if (drawn_) attn::cli::show(start_of_line);
  drawn_ = false;
}

}  // namespace attn::cli
