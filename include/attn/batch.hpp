#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/document.hpp"
#include "attn/error.hpp"
#include "attn/run.hpp"

namespace attn {

/// Part `index` (from 0) of `count` parts of a batch: items number index, index + count,
/// index + 2·count… of the list of all items.
struct Shard {
  std::size_t index = 0, count = 1;
};

/// A shard and the names of the environment variables that state it: "SLURM_PROCID, SLURM_NTASKS".
struct FoundShard {
  Shard shard;
  std::string source;
};

/// The shard of this process according to the engine that started it: a task of Slurm or of one of
/// its arrays (or both), a rank of Open MPI or of a launcher that speaks PMI, a pod of an indexed
/// Kubernetes Job. `variable` returns the value of an environment variable, or null. Absent without
/// such an engine, or with just one process. Throws Error(usage) for variables that contradict each
/// other or leave out the count.
std::optional<FoundShard> find_shard(const std::function<const char*(const char*)>& variable);

/// Many documents and the options of their computation.
struct BatchOptions {
  /// Documents, folders (all .json and .jsonl below them), patterns (*, ?, […]), .jsonl files with
  /// a document on each line; "-" = such lines on standard input.
  std::vector<std::string> inputs;
  /// File with more inputs, one on each line ("-" = standard input), or each ended by a zero byte,
  /// the format of `find -print0`.
  std::optional<std::filesystem::path> files_from;

  /// Options of each document. `out` is the folder of the batch, `document.input` is ignored, and
  /// `document.threads` is the number for one document.
  RunOptions run;
  std::size_t jobs = 0;  ///< documents computed at a time; 0 = one for each processor
  Shard shard;
  bool resume = false;     ///< whether items that an earlier batch finished are skipped
  bool fail_fast = false;  ///< whether a failed item ends the batch

  /// Receives the answer to each document, in their order and as early as possible: a line of JSON
  /// with its result, or {"error": …}, after its "item" and "input". Nothing is written to files
  /// then, there is no summary, and standard input is read line by line as it arrives, only a few
  /// documents ahead.
  std::function<void(std::string_view)> answer;

  /// Replaces the texts of errors and warnings in the summary; absent = they stay.
  std::function<std::string(const std::string&)> wording;
};

/// The outcome of one document.
struct BatchItem {
  std::string name;      ///< its folder below that of the batch
  std::string input;     ///< the document: a file, or a file and a line, "docs.jsonl:12"
  bool skipped = false;  ///< whether an earlier batch finished it
  double seconds = 0;
  std::vector<std::string> warnings;
  std::optional<Error> error;  ///< absent = done

  /// The exit code of `attn-cli run` for this document.
  int status() const { return error ? static_cast<int>(error->kind()) : 0; }
};

struct BatchCounts {
  std::size_t items = 0;  ///< of this shard
  std::size_t done = 0, skipped = 0, failed = 0;

  std::size_t left() const { return items - done - skipped - failed; }
};

/// The failed items that have the same problem.
struct FailureReason {
  BatchItem first;
  std::size_t items = 0;
};

struct BatchOutcome {
  BatchCounts counts;
  Shard shard;
  std::filesystem::path summary;      ///< the file with a line for each item
  /// In the order of the items, at most `most_failures_kept` of each.
  std::vector<BatchItem> failures;
  std::vector<FailureReason> reasons;
  /// About malformed lines of earlier summaries, lines without a document, files that are given
  /// twice, and the most frequent ones of the documents.
  std::vector<std::string> warnings;
  double seconds = 0;
  bool interrupted = false;  ///< whether it was stopped before the last item
  bool nothing_to_resume = false;  ///< whether BatchOptions::resume found no summary
};

inline constexpr std::size_t most_failures_kept = 10;

/// Called after each item, by one thread at a time.
using BatchObserver = std::function<void(const BatchItem&, const BatchCounts&)>;

/// Computes many documents with run(), into folders below `run.out` that mirror the folders of the
/// documents. When the files of an item are whole, a line about it is appended to `summary.jsonl`
/// there, or to `summary.I-of-N.jsonl` for a shard. The others are computed even if one item fails;
/// an input that cannot be read, such as a folder or a file of lines, counts as a failed item. No
/// new item is begun while `*stop` is true.
///
/// Throws Error if the batch as a whole cannot be done: there are no items, the folder cannot be
/// made, the summary cannot be written.
BatchOutcome run_batch(const BatchOptions& options, const BatchObserver& observer = {},
                       const std::atomic<bool>* stop = nullptr);

/// The outcome of validate() for a document. Without problems also about the bytes of the tensors
/// that run() would write for it, and its warnings, but for those about numbers that are computed.
struct CheckedDocument : Validation {
  std::optional<double> bytes = {};
  std::vector<std::string> warnings = {};
};

/// Calls validate() for the model of RunOptions::document with its texts and pictures, if it has
/// any, and for all documents of BatchOptions::inputs and BatchOptions::files_from, in their order,
/// and passes each outcome to `take`. Standard input is one document, or one on each
/// line if its first line is a whole document. Throws Error as run_batch() does for missing inputs.
void validate_batch(const BatchOptions& options, const std::function<void(CheckedDocument)>& take);

/// validation_text() with lines for each valid document that say how much will be written and what
/// is doubtful, of several documents only those with problems or warnings, and their numbers in a
/// last line; and validation_json() with "bytes" and "warnings".
std::string checked_text(std::span<const CheckedDocument> documents);
std::string checked_json(std::span<const CheckedDocument> documents);

/// Joins the summaries of the folder's shards, and of any batch without shards, into
/// `summary.jsonl`: the last line of each item, sorted by name. Items without a line in any summary
/// count as left. Throws Error if there are no summaries.
BatchOutcome merge_summaries(const std::filesystem::path& folder);

/// A report to read: counts and failures.
std::string batch_text(const BatchOutcome& outcome);
/// The report as one JSON object.
std::string batch_json(const BatchOutcome& outcome);

}  // namespace attn
