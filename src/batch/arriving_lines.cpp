#include "batch/arriving_lines.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "attn/error.hpp"

namespace attn {

std::optional<ArrivedLine> ArrivingLines::next() {
  for (;;) {
    const std::size_t end = waiting_.find('\n', searched_);
    if (end == std::string::npos) {
      searched_ = waiting_.size();
      if (waiting_.size() > most_bytes_) {
        too_long_ = true;
        waiting_.clear();
        searched_ = 0;
      }
      if (!ended_ && read_more()) continue;
      if (waiting_.empty() && !too_long_) return std::nullopt;
    }
    std::string line = waiting_.substr(0, end);
    waiting_.erase(0, end == std::string::npos ? end : end + 1);
    searched_ = 0;
    ++number_;
    if (std::exchange(too_long_, false) || line.size() > most_bytes_)
      return ArrivedLine{number_, nullptr};
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    return ArrivedLine{number_, std::make_shared<const std::string>(std::move(line))};
  }
}

// Waits for what comes next; false at the end.
bool ArrivingLines::read_more() {
  constexpr std::size_t piece = 1U << 16U;
  constexpr int milliseconds = 100;  // between two looks at `stop`
  for (;;) {
    if (stop_ != nullptr && *stop_) break;
    pollfd ready{descriptor_, POLLIN, 0};
    if (poll(&ready, 1, milliseconds) == 0) continue;
    const std::size_t before = waiting_.size();
    waiting_.resize(before + piece);
    const ssize_t count = read(descriptor_, waiting_.data() + before, piece);
    waiting_.resize(before + static_cast<std::size_t>(count > 0 ? count : 0));
    if (count > 0) return true;
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) {
      throw Error(ErrorKind::file,
                  std::string("cannot read standard input: ") + std::strerror(errno), "",
                  "check where the input comes from");
    }
    break;
  }
  ended_ = true;
  return false;
}

}  // namespace attn
