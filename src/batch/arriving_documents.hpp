#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>

#include "attn/batch.hpp"

#include "batch/arriving_lines.hpp"
#include "batch/items.hpp"

namespace attn {

/// The documents of a batch one after another, as they come: those of standard input alone line by
/// line, never further ahead than it is asked, all others as DocumentList lists them.
class ArrivingDocuments {
 public:
  /// Throws as DocumentList does.
  ArrivingDocuments(const BatchOptions& options, const std::atomic<bool>* stop);

  struct Arrived {
    ListedDocument document;
    std::function<DocumentText()> text;
  };

  /// The next one of the shard; nothing at the end. Throws Error(file) if standard input cannot be
  /// read.
  std::optional<Arrived> next();

  /// Whether it is not known how many there will be.
  static bool unlisted(const BatchOptions& options);

 private:
  std::optional<Arrived> next_line();
  std::optional<Arrived> next_listed();

  Limits limits_;
  Shard shard_;
  bool texts_;
  std::optional<ArrivingLines> lines_;
  std::optional<DocumentList> list_;
  std::size_t index_ = 0;
};

}  // namespace attn
