#include "batch/arriving_lines.hpp"

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "attn/error.hpp"

#include "support/translated.hpp"

namespace attn {

std::optional<ArrivedLine> ArrivingLines::next() {
  for (;;) {
    const std::size_t found = came_.find('\n', searched_);
    const bool whole = found != std::string::npos;
    const std::size_t end = whole ? found : came_.size();
    searched_ = end;
    if (end - begin_ > most_bytes_) {
      too_long_ = true;
      begin_ = end;
    }
    if (!whole && !ended_) {
      read_more();
      continue;
    }
    // Of a line that is not whole the rest may be under way.
    if (!whole && (is_stopped() || (begin_ == end && !too_long_))) return std::nullopt;
    std::string_view line = std::string_view(came_).substr(begin_, end - begin_);
    begin_ = searched_ = whole ? end + 1 : end;
    ++number_;
    if (std::exchange(too_long_, false)) return ArrivedLine{number_, nullptr};
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") != line.npos)
      return ArrivedLine{number_, std::make_shared<const std::string>(line)};
  }
}

// Waits for what comes next, or for the end.
void ArrivingLines::read_more() {
  constexpr std::size_t piece = 1U << 16U;
  constexpr int milliseconds = 100;  // between two looks at `stop`
  for (;;) {
    if (is_stopped()) break;
    pollfd ready{descriptor_, POLLIN, 0};
    if (poll(&ready, 1, milliseconds) == 0) continue;
    // What was told goes when all of a piece was, and not line by line.
    came_.erase(0, begin_);
    searched_ -= std::exchange(begin_, 0);
    const std::size_t before = came_.size();
    came_.resize(before + piece);
    const ssize_t count = read(descriptor_, came_.data() + before, piece);
    came_.resize(before + static_cast<std::size_t>(count > 0 ? count : 0));
    if (count > 0) return;
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) {
      throw Error(ErrorKind::file,
                  translated("cannot read standard input: {1}", std::strerror(errno)), "",
                  translated("check where the input comes from"));
    }
    break;
  }
  ended_ = true;
}

}  // namespace attn
