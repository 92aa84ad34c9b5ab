#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "attn/error.hpp"

#include "batch/items.hpp"
#include "support/translated.hpp"

namespace attn {

std::optional<ArrivedLine> ArrivingLines::next() {
  for (;;) {
    if (is_stopped()) return std::nullopt;
    const std::size_t found = came_.find('\n', searched_);
    const bool whole = found != std::string::npos;
    const std::size_t end = whole ? found : came_.size();
    searched_ = end;
    if (end - begin_ > most_bytes_ || skips_) {
      // Told at once, as the end of such a line may never come; the rest of it is passed over.
      const bool told = std::exchange(skips_, !whole);
      begin_ = searched_ = whole ? end + 1 : end;
      if (!told) return ArrivedLine{++number_, nullptr};
      if (whole) continue;
    }
    if (!whole && !ended_) {
      read_more();
      continue;
    }
    if (!whole && begin_ == end) return std::nullopt;
    std::string_view line = std::string_view(came_).substr(begin_, end - begin_);
    begin_ = searched_ = whole ? end + 1 : end;
    ++number_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") != line.npos)
      return ArrivedLine{number_, std::make_shared<const std::string>(line)};
  }
}

// Waits for more text or the end of the stream.
void ArrivingLines::read_more() {
  constexpr std::size_t piece = 1U << 16U;
  constexpr int milliseconds = 100;  // between two checks of `stop`
  for (;;) {
    if (is_stopped()) break;
    pollfd ready{descriptor_, POLLIN, 0};
    const int came = poll(&ready, 1, milliseconds);
    // After a signal there may be nothing to read, and reading would wait without a check.
    if (came == 0 || (came < 0 && errno == EINTR)) continue;
    // Lines that were taken are removed here, all at once, since removing each would be slow.
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

namespace {

// Throws Error(input) for a first line that only begins a document, or that is a list of them.
// `texts`: whether lines may be texts for a model.
void refuse_part(std::string_view line, bool texts) {
  constexpr std::string_view space = " \t\r";
  const std::size_t end = line.find_last_not_of(space) + 1;  // npos + 1 = 0
  const std::size_t begin = std::min(line.find_first_not_of(space), end);
  line = line.substr(begin, end - begin);
  const bool list = !texts && line.starts_with('[');
  const bool part =
      line.starts_with('{') && std::string_view("{[,:").find(line.back()) != std::string_view::npos;
  if (!list && !part) return;
  throw input_error(list ? translated("standard input has a list, not one document per line")
                         : translated("standard input has a document of several lines"),
                    "standard input:1",
                    list ? translated("pass its elements: jq -c '.[]' | attn-cli batch -")
                         : translated("pass one document per line: jq -c . | attn-cli batch -"));
}

}  // namespace

bool ArrivingDocuments::unlisted(const BatchOptions& options) {
  return options.inputs.size() == 1 && options.inputs[0] == "-" && !options.files_from;
}

ArrivingDocuments::ArrivingDocuments(const BatchOptions& options, const std::atomic<bool>* stop)
    : limits_(options.run.document.files.limits),
      shard_(options.shard),
      texts_(options.run.document.model) {
  if (unlisted(options)) {
    lines_.emplace(STDIN_FILENO, limits_.stream_bytes, stop);
  } else {
    list_.emplace(options);
  }
}

std::optional<ArrivingDocuments::Arrived> ArrivingDocuments::next() {
  for (;; ++index_) {
    std::optional<Arrived> arrived = lines_ ? next_line() : next_listed();
    if (!arrived) return std::nullopt;
    if (index_ % shard_.count != shard_.index) continue;
    ++index_;
    return arrived;
  }
}

std::optional<ArrivingDocuments::Arrived> ArrivingDocuments::next_line() {
  const std::optional<ArrivedLine> line = lines_->next();
  if (!line) return std::nullopt;
  if (index_ == 0 && line->text) refuse_part(*line->text, texts_);
  const ListedDocument document{"stdin" + line_suffix(line->number), "-", line->number, texts_};
  return Arrived{document, [text = line->text, place = document.place()]() -> DocumentText {
                   if (text) return {text, *text};
                   throw input_error(
                       translated("the line is longer than the limit of standard input"), place,
                       translated("make it shorter, or raise the limit with Limits::file_bytes"));
                 }};
}

std::optional<ArrivingDocuments::Arrived> ArrivingDocuments::next_listed() {
  if (index_ >= list_->size()) return std::nullopt;
  return Arrived{(*list_)[index_], [this, index = index_] {
                   FileAccess anywhere;
                   anywhere.limits = limits_;
                   return list_->text(index, anywhere);
                 }};
}

}  // namespace attn
