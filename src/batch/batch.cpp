#include "attn/batch.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "batch/answers.hpp"
#include "batch/arriving_documents.hpp"
#include "batch/batch_document.hpp"
#include "batch/fingerprint.hpp"
#include "batch/items.hpp"
#include "batch/summary.hpp"
#include "models/model_folder.hpp"
#include "result/output_folder.hpp"
#include "result/provenance.hpp"
#include "run/document_run.hpp"
#include "support/atomic_file.hpp"
#include "support/in_quotes.hpp"
#include "support/mapped_file.hpp"
#include "support/number_text.hpp"
#include "support/parallel_for.hpp"
#include "support/path_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// "2024-03-01T12:00:00.123456Z"; such texts sort as the times do.
std::string now_text() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  const std::time_t seconds = static_cast<std::time_t>(micros / 1'000'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
  return std::string(date) + "." + with_zeros(static_cast<std::size_t>(micros % 1'000'000), 6) +
         "Z";
}

class Batch {
 public:
  Batch(const BatchOptions& options, const BatchObserver& observer, const std::atomic<bool>* stop)
      : options_(options),
        files_(options.run.document.files),
        observer_(observer),
        stop_(stop),
        fingerprint_(options_hash(options.run)) {
    // A checkpoint that many documents name is read once.
    files_.models = std::make_shared<ModelFolders>();
  }

  BatchOutcome run() {
    const auto start = Clock::now();
    const Shard shard = options_.shard;
    outcome_.shard = shard;
    if (ArrivingDocuments::unlisted(options_)) return run_as_they_come(start);
    const DocumentList documents(options_);
    items_ = documents.size();
    outcome_.counts.items = (items_ + shard.count - 1 - shard.index) / shard.count;
    prepare_folder();
    parallel_for(outcome_.counts.items, jobs_in_memory(options_.jobs), [&](std::size_t i) {
      if (is_stopped()) return;
      const std::size_t index = shard.index + i * shard.count;
      deal_with(documents[index],
                [&](const FileAccess& access) { return documents.text(index, access); });
    });
    outcome_.seconds = seconds_since(start);
    outcome_.interrupted = stop_ != nullptr && *stop_ && outcome_.counts.left() > 0;
    return std::move(outcome_);
  }

 private:
  void prepare_folder() {
    make_output_folder(options_.run.out);
    outcome_.summary = options_.run.out / summary_name(options_.shard);
    if (options_.resume) {
      earlier_ = Summaries::read(options_.run.out);
      outcome_.warnings = earlier_->warnings();
    }
    summary_.emplace(outcome_.summary, options_.resume);
  }

  // A document of standard input is computed as soon as its line is there; the next line is read
  // when someone is free to compute it. How many there are is known at the end.
  BatchOutcome run_as_they_come(Clock::time_point start) {
    ArrivingDocuments documents(options_, stop_);
    std::optional<ArrivingDocuments::Arrived> first = documents.next();
    if (!first) {
      throw Error(ErrorKind::file, translated("there are no documents in what was given"),
                  "BatchOptions::inputs",
                  translated("documents end in .json, files with a document a line in .jsonl"));
    }
    prepare_folder();
    std::mutex taking;
    const auto take = [&]() -> std::optional<ArrivingDocuments::Arrived> {
      const std::lock_guard lock(taking);
      if (is_stopped()) return std::nullopt;
      auto arrived = first ? std::exchange(first, std::nullopt) : documents.next();
      if (arrived) arrived_ = ++items_;
      return arrived;
    };
    const std::size_t jobs = thread_count(jobs_in_memory(options_.jobs));
    parallel_for(jobs, jobs, [&](std::size_t) {
      while (const auto arrived = take()) {
        deal_with(arrived->document, [&](const FileAccess&) { return arrived->text(); });
      }
    });
    outcome_.counts.items = items_;
    outcome_.seconds = seconds_since(start);
    outcome_.interrupted = stop_ != nullptr && *stop_;
    return std::move(outcome_);
  }

  bool is_stopped() const { return failed_fast_ || (stop_ != nullptr && *stop_); }

  void deal_with(const ListedDocument& document,
                 const std::function<DocumentText(const FileAccess&)>& text) {
    const auto start = Clock::now();
    SummaryRecord record;
    record.item.name = document.name;
    record.item.input = document.place();
    try {
      with_whole_files(files_, [&](const FileAccess& access) {
        FileAccess anywhere = access;
        anywhere.restrict_to.reset();
        compute(document, text(anywhere), access, record);
        return true;
      });
    } catch (const std::exception& exception) {
      record.item.skipped = false;
      record.item.error = error_of(exception);
    }
    reword(record.item, options_);
    record.item.seconds = seconds_since(start);
    if (!record.item.skipped) {
      record.items = items_;
      record.options = fingerprint_;
      record.finished = now_text();
      summary_->append(record_line(record));
    }
    count(record.item);
  }

  void compute(const ListedDocument& document, const DocumentText& text, const FileAccess& access,
               SummaryRecord& record) {
    const auto bytes = std::as_bytes(std::span(text.text));
    record.inputs.emplace_back(record.item.input, content_hash(bytes));
    const fs::path folder = options_.run.out / document.name;
    if (is_done(record, folder, access)) {
      record.item.skipped = true;
      return;
    }

    RunOptions options = options_.run;
    options.document.files = access;
    options.out = folder;
    Provenance provenance;
    if (options.document.threads == 0) options.document.threads = 1;
    options.plot.figure.threads = options.document.threads;
    options.document.files.opened = [&](const fs::path& path, std::span<const std::byte> content) {
      const std::string name = path_text(path.native());
      const auto known = std::find_if(record.inputs.begin(), record.inputs.end(),
                                      [&](const auto& input) { return input.first == name; });
      if (known == record.inputs.end()) {
        record.inputs.emplace_back(name, hashes_.hash(path, content));
      }
    };
    if (options.provenance) {
      provenance.watch(options.document.files);
      provenance.add(record.item.input, bytes);
    }
    Document parsed = open_batch_document(document, text, options.document, record.item.input);
    make_folders_below(options_.run.out, fs::path(document.name).parent_path());
    refuse_link(folder);
    const RunOutcome outcome =
        run_document(options, std::move(parsed), options.provenance ? &provenance : nullptr);
    for (const RunReport& report : outcome.reports) {
      record.item.warnings.insert(record.item.warnings.end(), report.warnings.begin(),
                                  report.warnings.end());
      for (const fs::path& written : report.files) add_file(written, folder, record);
    }
    if (outcome.comparison) add_file(*outcome.comparison, folder, record);
  }

  static void add_file(const fs::path& file, const fs::path& folder, SummaryRecord& record) {
    std::error_code ignored;
    record.files.emplace_back(file.lexically_relative(folder).generic_string(),
                              fs::file_size(file, ignored));
  }

  // Whether an earlier batch did the same with the same, and its files are still there.
  bool is_done(const SummaryRecord& record, const fs::path& folder, const FileAccess& access) {
    if (!earlier_) return false;
    const std::optional<SummaryRecord> before = earlier_->find(record.item.name);
    if (!before || before->item.error || before->options != fingerprint_ ||
        before->inputs.empty() || before->inputs[0] != record.inputs[0]) {
      return false;
    }
    for (const auto& [file, bytes] : before->files) {
      std::error_code error;
      const fs::path path = folder / file;
      if (!fs::is_regular_file(fs::symlink_status(path, error)) ||
          fs::file_size(path, error) != bytes || error) {
        return false;
      }
    }
    return std::all_of(before->inputs.begin() + 1, before->inputs.end(), [&](const auto& input) {
      try {
        return hashes_.hash(path_of_text(input.first), access) == input.second;
      } catch (const Error&) {
        return false;  // the document will tell what is wrong with the file
      }
    });
  }

  void count(const BatchItem& item) {
    const std::lock_guard lock(guard_);
    if (arrived_ > 0) outcome_.counts.items = arrived_;
    if (item.skipped) {
      ++outcome_.counts.skipped;
    } else if (item.error) {
      ++outcome_.counts.failed;
      if (outcome_.failures.size() < most_failures_kept) outcome_.failures.push_back(item);
      if (options_.fail_fast) failed_fast_ = true;
    } else {
      ++outcome_.counts.done;
    }
    if (observer_) observer_(item, outcome_.counts);
  }

  const BatchOptions& options_;
  FileAccess files_;
  const BatchObserver& observer_;
  const std::atomic<bool>* stop_;
  const std::string fingerprint_;
  std::atomic<std::size_t> items_ = 0;    ///< of all shards; so far, where they come one by one
  std::atomic<std::size_t> arrived_ = 0;  ///< of those that come one by one
  std::optional<Summaries> earlier_;
  std::optional<SummaryFile> summary_;
  FileHashes hashes_;
  std::atomic<bool> failed_fast_{false};
  std::mutex guard_;
  BatchOutcome outcome_;
};

void check_shard(const Shard& shard) {
  if (shard.index < shard.count) return;
  throw Error(
      ErrorKind::usage,
      translated("there is no part {1} of {2}: parts count from 0", shard.index, shard.count),
      "BatchOptions::shard", translated("give 0/{1} for the first of them", shard.count));
}

}  // namespace

BatchOutcome run_batch(const BatchOptions& options, const BatchObserver& observer,
                       const std::atomic<bool>* stop) {
  check_shard(options.shard);
  if (options.answer) return answer_documents(options, observer, stop);
  return Batch(options, observer, stop).run();
}

BatchOutcome merge_summaries(const fs::path& folder) {
  const auto start = Clock::now();
  const Summaries summaries = Summaries::read(folder);
  if (summaries.size() == 0) {
    throw Error(ErrorKind::file,
                translated("there is no summary of a batch in {1}", in_quotes(folder.native())),
                "merge_summaries()",
                translated("name the folder that was RunOptions::out of the batch"));
  }
  BatchOutcome outcome;
  outcome.warnings = summaries.warnings();
  outcome.summary = folder / summary_name({});
  std::string newest;
  AtomicFile merged(outcome.summary);
  summaries.for_each([&](const std::string& line) {
    merged.write(line + "\n");
    SummaryRecord record = read_record(line);
    if (record.finished > newest) {
      newest = record.finished;
      outcome.counts.items = record.items;
    }
    if (!record.item.error) {
      ++outcome.counts.done;
      return;
    }
    ++outcome.counts.failed;
    if (outcome.failures.size() < most_failures_kept) outcome.failures.push_back(record.item);
  });
  merged.commit();
  outcome.counts.items = std::max(outcome.counts.items, summaries.size());
  outcome.seconds = seconds_since(start);
  return outcome;
}

}  // namespace attn
