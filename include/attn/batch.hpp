#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/document.hpp"
#include "attn/error.hpp"
#include "attn/run.hpp"

namespace attn {

/// One of `count` parts of a batch, from 0: items number index, index + count, index + 2·count… of
/// the list, which is the same for all parts.
struct Shard {
  std::size_t index = 0, count = 1;
};

/// A shard and the names of the variables that told it, "SLURM_PROCID, SLURM_NTASKS".
struct FoundShard {
  Shard shard;
  std::string source;
};

/// The shard that the engine which started this process gave it: a task of Slurm or of one of its
/// arrays (or both), a rank of Open MPI or of a launcher that speaks PMI, a pod of an indexed
/// Kubernetes Job. `variable` looks up a variable of the environment and gives null for an absent
/// one. Nothing if there is no such engine, or just one process of it. Throws Error(usage) for
/// variables that contradict themselves or leave out the count.
std::optional<FoundShard> find_shard(const std::function<const char*(const char*)>& variable);

struct BatchOptions {
  /// Documents, folders (all .json and .jsonl below them), patterns (*, ?, […]), .jsonl files with
  /// a document a line; "-" = such lines on standard input.
  std::vector<std::string> inputs;
  /// A list of more inputs, one a line ("-" = standard input), or ended by zero bytes as `find
  /// -print0` writes them.
  std::optional<std::filesystem::path> files_from;

  /// For each document; `out` is the folder of the batch, `input` is not looked at, and `threads`
  /// are those of one document.
  RunOptions run;
  std::size_t jobs = 0;  ///< documents at a time; 0 = as many as the machine has processors
  Shard shard;
  bool resume = false;     ///< whether what an earlier batch finished is left as it is
  bool fail_fast = false;  ///< whether a failed item ends the batch

  /// Takes the answer to each document, a line of JSON in their order, as soon as it is there: its
  /// result, or {"error": …}. Nothing is written to files then, there is no summary, and standard
  /// input is read line by line as it comes, never further ahead than a few answers.
  std::function<void(std::string_view)> answer;

  /// What the summary says in place of a text of an error or warning; absent = the text itself.
  std::function<std::string(const std::string&)> wording;
};

/// What became of one document.
struct BatchItem {
  std::string name;      ///< its folder below that of the batch
  std::string input;     ///< the document: a file, or a file and a line, "docs.jsonl:12"
  bool skipped = false;  ///< it was finished before
  double seconds = 0;
  std::vector<std::string> warnings;
  std::optional<Error> error;  ///< absent = done

  /// The exit code that `attn-cli run` would have had.
  int status() const { return error ? static_cast<int>(error->kind()) : 0; }
};

struct BatchCounts {
  std::size_t items = 0;  ///< to be dealt with, those of this shard
  std::size_t done = 0, skipped = 0, failed = 0;

  std::size_t left() const { return items - done - skipped - failed; }
};

struct BatchOutcome {
  BatchCounts counts;
  Shard shard;
  std::filesystem::path summary;      ///< the file with a line an item
  std::vector<BatchItem> failures;    ///< the first ones, at most `most_failures_kept`
  std::vector<std::string> warnings;  ///< of lines of earlier summaries that are none
  double seconds = 0;
  bool interrupted = false;  ///< it was told to stop before all was done
};

inline constexpr std::size_t most_failures_kept = 10;

/// Called after each item, by one thread at a time.
using BatchObserver = std::function<void(const BatchItem&, const BatchCounts&)>;

/// Computes many documents, each as run() would, into folders below `run.out` that mirror where the
/// documents are. A line for each item is appended to `summary.jsonl` there, or to
/// `summary.I-of-N.jsonl` of a shard, when its files are whole. A failed item does not keep the
/// others from being done; an input that cannot be read, such as a folder or a file of lines, is
/// one. While `*stop` is true no new item is begun.
///
/// Throws Error if the batch as a whole cannot be done: there are no items, the folder cannot be
/// made, the summary cannot be written.
BatchOutcome run_batch(const BatchOptions& options, const BatchObserver& observer = {},
                       const std::atomic<bool>* stop = nullptr);

/// Checks all documents of the inputs (BatchOptions::inputs and BatchOptions::files_from) as
/// validate() does, in their order, and hands each outcome on. Standard input is one document, or
/// one a line if its first line is one by itself. Throws Error as run_batch() does for inputs that
/// are not there.
void validate_batch(const BatchOptions& options, const std::function<void(Validation)>& take);

/// Joins the summaries of the folder's shards, and of any batch without shards, into
/// `summary.jsonl`, a line an item, the last one of each, sorted by name. The items that no summary
/// tells of count as left. Throws Error if there are no summaries.
BatchOutcome merge_summaries(const std::filesystem::path& folder);

/// The counts and the failures, to read.
std::string batch_text(const BatchOutcome& outcome);
/// The same as one JSON object.
std::string batch_json(const BatchOutcome& outcome);

}  // namespace attn
