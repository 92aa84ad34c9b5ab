#include "batch/arriving_documents.hpp"

#include <unistd.h>

#include "attn/error.hpp"

#include "support/translated.hpp"

namespace attn {

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
