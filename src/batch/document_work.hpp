#pragma once

#include <atomic>
#include <chrono>
#include <functional>

#include "attn/batch.hpp"

#include "batch/failures.hpp"
#include "batch/grouped_warnings.hpp"
#include "document/document.hpp"
#include "result/provenance.hpp"

namespace attn {

/// Many documents that are computed one by one, and what became of them so far: batches and
/// readings of corpora.
class DocumentWork {
 protected:
  /// Throws Error(usage) if there is no such shard. `stop` may be null.
  DocumentWork(BatchOptions options, BatchObserver observer, const std::atomic<bool>* stop);

  bool is_interrupted() const { return stop_ != nullptr && *stop_; }
  bool is_stopped() const { return failed_fast_ || is_interrupted(); }

  /// Calls compute(access) with the files and the time of one document, and puts its error and its
  /// seconds into the item.
  void attempt(BatchItem& item, const std::function<void(const FileAccess&)>& compute) const;
  /// Options of one document.
  RunOptions options_of_one(const FileAccess& access) const;
  /// Computes it, and puts its warnings into the item. `read` as for run_document().
  static RunOutcome run_one(const RunOptions& options, Document document, const Provenance* read,
                            BatchItem& item);
  /// Counts the item and tells the observer. `order` is higher for later items. One thread at a
  /// time may call it.
  void count(const BatchItem& item, std::size_t order);
  /// The outcome of all documents so far, with their most frequent warnings.
  BatchOutcome outcome();

  const BatchOptions options_;
  const BatchObserver observer_;
  const std::atomic<bool>* const stop_;
  FileAccess files_;  ///< of all documents, which share the models
  std::atomic<bool> failed_fast_ = false;
  BatchOutcome outcome_;

 private:
  GroupedWarnings warned_;
  Failures failures_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace attn
