#include "attn/batch.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "attn/document.hpp"
#include "attn/spec.hpp"

#include "batch/document_work.hpp"
#include "batch/failures.hpp"
#include "batch/fingerprint.hpp"
#include "batch/grouped_warnings.hpp"
#include "batch/items.hpp"
#include "batch/summary.hpp"
#include "io/hashed_files.hpp"
#include "io/json_writer.hpp"
#include "report/facts.hpp"
#include "report/text_table.hpp"
#include "result/output_folder.hpp"
#include "result/provenance.hpp"
#include "run/document_run.hpp"
#include "support/atomic_file.hpp"
#include "support/errors.hpp"
#include "support/mapped_file.hpp"
#include "support/number_text.hpp"
#include "support/parallel_for.hpp"
#include "support/printable.hpp"
#include "support/seconds_since.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// A batch whose results go to BatchOptions::answer, in the order of the documents.
class Answers : DocumentWork {
 public:
  Answers(const BatchOptions& options, const BatchObserver& observer, const std::atomic<bool>* stop)
      : DocumentWork(options, observer, stop),
        jobs_(thread_count(jobs_in_memory(options.jobs))),
        documents_(options, stop) {}

  BatchOutcome run() {
    parallel_for(jobs_, jobs_, [this](std::size_t) {
      try {
        while (take_one()) {
        }
      } catch (...) {
        const std::lock_guard lock(told_guard_);
        ended_ = true;
        told_more_.notify_all();
        throw;
      }
    });
    return outcome();
  }

 private:
  // Computes the next document. Returns false if there is none.
  bool take_one() {
    std::optional<ArrivingDocuments::Arrived> arrived;
    std::size_t number = 0;
    {
      const std::lock_guard taking(taking_guard_);
      if (!wait_for_room()) return false;
      arrived = documents_.next();
      if (!arrived) {
        ended_ = true;
        return false;
      }
      number = taken_++;
    }
    BatchItem item;
    item.input = arrived->document.place();
    std::string line;
    attempt(item, [&](const FileAccess& access) {
      line = answer(arrived->document, arrived->text(), access, item);
    });
    if (item.error) line = error_json(*item.error);
    line.insert(1, "\"item\": " + json_string(arrived->document.name) +
                       ", \"input\": " + json_string(item.input) + ", ");
    tell(number, std::move(line), std::move(item));
    return true;
  }

  // Waits while many answers are held back by an unfinished one before them.
  bool wait_for_room() {
    constexpr std::size_t ahead = 16;  // answers for each job
    std::unique_lock lock(told_guard_);
    told_more_.wait(lock, [&] { return ended_ || taken_ - told_ < ahead * jobs_; });
    return !ended_ && !is_interrupted();
  }

  std::string answer(const ListedDocument& document, const DocumentText& text,
                     const FileAccess& access, BatchItem& item) const {
    RunOptions options = options_of_one(access);
    std::string line;
    options.answer = [&](std::string_view piece) { line += piece; };
    options.answer_in_one_line = true;
    Provenance provenance;
    if (options.provenance) {
      provenance.watch(options.document.files);
      provenance.add(item.input, std::as_bytes(std::span(text.text)));
    }
    run_one(options, open_batch_document(document, text, options.document, item.input),
            options.provenance ? &provenance : nullptr, item);
    return line;
  }

  void tell(std::size_t number, std::string line, BatchItem item) {
    const std::lock_guard lock(told_guard_);
    waiting_.emplace(number, std::pair(std::move(line), std::move(item)));
    for (auto next = waiting_.begin();
         next != waiting_.end() && next->first == told_ && !failed_fast_;
         next = waiting_.erase(next)) {
      const auto& [text, told] = next->second;
      options_.answer(text);
      ++told_;
      ++outcome_.counts.items;
      count(told, told_);
    }
    ended_ = ended_ || failed_fast_;
    told_more_.notify_all();
  }

  std::size_t jobs_;
  ArrivingDocuments documents_;
  std::mutex taking_guard_;
  std::atomic<std::size_t> taken_ = 0;
  std::mutex told_guard_;
  std::condition_variable told_more_;
  std::map<std::size_t, std::pair<std::string, BatchItem>>
      waiting_;  // finished answers whose predecessors are not
  std::size_t told_ = 0;
  std::atomic<bool> ended_ = false;
};

// The time as "2024-03-01T12:00:00.123456Z", a form that sorts in the order of time.
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

// Whether there is a result in the folder of an item, or in one of its kinds there. One that was
// being replaced is none.
bool has_result(const fs::path& folder) {
  const auto is_result = [](const fs::path& path) {
    std::error_code none;
    return fs::is_regular_file(path, none) && fs::file_size(path, none) > unfinished_result.size();
  };
  return is_result(folder / "result.json") ||
         std::ranges::any_of(kinds(), [&](const KindInfo& kind) {
           return is_result(folder / kind.name / "result.json");
         });
}

/// A batch whose results go into folders, with a line for each item in the summary.
class Batch : DocumentWork {
 public:
  Batch(const BatchOptions& options, const BatchObserver& observer, const std::atomic<bool>* stop)
      : DocumentWork(options, observer, stop), asked_(description_of(options.run)) {}

  BatchOutcome run() {
    const Shard& shard = options_.shard;
    if (ArrivingDocuments::unlisted(options_)) return run_as_they_come();
    const DocumentList documents(options_);
    items_ = documents.size();
    outcome_.counts.items = (items_ + shard.count - 1 - shard.index) / shard.count;
    std::error_code none;
    if (fs::exists(options_.run.out, none)) {
      const auto inputs = std::make_shared<MappedFiles>();
      documents.add_inputs(*inputs);
      files_.mapped = inputs;
    }
    prepare_folder();
    for (std::size_t i = 0; options_.resume && i < items_; ++i) note_as_given(documents[i].name);
    tell_of_others();
    if (documents.repeated() > 0) {
      outcome_.warnings.push_back(translated_count(documents.repeated(),
                                                   "{1} file is given twice, and computed once",
                                                   "{1} files are given twice, and computed once"));
    }
    parallel_for(outcome_.counts.items, jobs_in_memory(options_.jobs), [&](std::size_t i) {
      if (is_stopped()) return;
      const std::size_t index = shard.index + i * shard.count;
      deal_with(documents[index], index,
                [&](const FileAccess& access) { return documents.text(index, access); });
    });
    finish();
    BatchOutcome all = outcome();
    all.interrupted = all.interrupted && all.counts.left() > 0;
    return all;
  }

 private:
  void prepare_folder() {
    outcome_.summary = options_.run.out / summary_files.name(options_.shard);
    if (files_.mapped) files_.mapped->refuse_output(outcome_.summary);
    make_output_folder(options_.run.out).keep();
    if (options_.resume) {
      earlier_ = Summaries::read(options_.run.out);
      outcome_.warnings = earlier_->warnings();
      warn_of_nothing_to_resume();
      given_.resize(earlier_->size());
    }
    // Documents may name several kinds and splits.
    std::ranges::move(without_effect(options_.run, !options_.run.plots.empty(), true),
                      std::back_inserter(outcome_.warnings));
    std::error_code none;
    if (!options_.resume && fs::exists(outcome_.summary, none)) {
      outcome_.warnings.push_back(
          translated("{1} of an earlier batch is replaced: BatchOptions::resume goes on with it",
                     in_quotes(outcome_.summary.native())));
    }
    summary_.emplace(outcome_.summary, options_.resume);
    records_.emplace(*summary_, options_.run.out, options_.run.sync);
  }

  // A mistyped folder would cost all that was computed in the one that is meant.
  void warn_of_nothing_to_resume() {
    std::error_code error;
    outcome_.nothing_to_resume = summary_files.in(options_.run.out, error).empty() && !error;
    if (!outcome_.nothing_to_resume) return;
    const std::string nearest = nearest_resumable(options_.run.out);
    if (nearest.empty()) return;
    outcome_.warnings.push_back(
        translated("nothing is skipped, as {1} holds no earlier batch: did you mean {2}?",
                   in_quotes(options_.run.out.native()), in_quotes(nearest)));
  }

  void finish() {
    records_->finish();
    if (options_.resume) summary_->keep_last_lines();
  }

  // Computes each document of standard input as soon as its line has arrived. A job reads the next
  // line when it is free. The number of documents is known at the end.
  BatchOutcome run_as_they_come() {
    ArrivingDocuments documents(options_, stop_);
    std::optional<ArrivingDocuments::Arrived> first = documents.next();
    // The summary of an earlier batch stays.
    if (!first && is_interrupted()) return outcome();
    if (!first) {
      throw Error(ErrorKind::file, translated("there are no documents in what was given"),
                  "BatchOptions::inputs",
                  translated("documents end in .json, files with one document per line in .jsonl, "
                             "files with one text per line in .txt"));
    }
    prepare_folder();
    std::mutex taking;
    const auto take = [&]() -> std::optional<ArrivingDocuments::Arrived> {
      const std::lock_guard lock(taking);
      if (is_stopped()) return std::nullopt;
      auto arrived = first ? std::exchange(first, std::nullopt) : documents.next();
      if (arrived) {
        arrived_ = ++items_;
        note_as_given(arrived->document.name);
      }
      return arrived;
    };
    const std::size_t jobs = thread_count(jobs_in_memory(options_.jobs));
    parallel_for(jobs, jobs, [&](std::size_t) {
      while (const auto arrived = take()) {
        deal_with(arrived->document, arrived->document.line,
                  [&](const FileAccess&) { return arrived->text(); });
      }
    });
    outcome_.counts.items = items_;
    finish();
    if (!is_stopped() && options_.shard.count == 1) tell_of_others();
    return outcome();
  }

  void deal_with(const ListedDocument& document, std::size_t order,
                 const std::function<DocumentText(const FileAccess&)>& text) {
    SummaryRecord record;
    record.item.name = document.name;
    record.item.input = document.place();
    Provenance read = hashes_.provenance();
    attempt(record.item, [&](const FileAccess& access) {
      FileAccess anywhere = access;
      anywhere.restrict_to.reset();
      compute(document, text(anywhere), access, record, read);
    });
    record.inputs = read.inputs();
    // A flag that is wrong for all documents would otherwise cost all earlier results.
    if (record.item.error && record.files.empty() && has_result(options_.run.out / document.name)) {
      record.item.warnings.push_back(
          translated("this run failed: the result in {1} is of an earlier one",
                     in_quotes((options_.run.out / document.name).native())));
    }
    if (!record.item.skipped) {
      record.items = items_;
      record.options = asked_;
      record.finished = now_text();
      records_->add(record);
    }
    const std::lock_guard lock(guard_);
    if (arrived_ > 0) outcome_.counts.items = arrived_;
    count(record.item, order);
  }

  void compute(const ListedDocument& document, const DocumentText& text, const FileAccess& access,
               SummaryRecord& record, Provenance& read) {
    read.add(record.item.input, content_hash(std::as_bytes(std::span(text.text))));
    const fs::path folder = place_below(options_.run.out, document.name);
    if (is_done(record.item.name, read.inputs().front(), folder, access)) {
      record.item.skipped = true;
      return;
    }

    RunOptions options = options_of_one(access);
    options.out = folder;
    options.sync = false;  // SavedRecords waits for the disk
    options.plot.figure.threads = options.document.threads;
    read.watch(options.document.files);
    Document parsed = open_batch_document(document, text, options.document, record.item.input);
    NewFolders made = make_folder_below(options_.run.out, document.name);
    const RunOutcome outcome =
        run_one(options, std::move(parsed), options.provenance ? &read : nullptr, record.item);
    made.keep();
    for (const RunReport& report : outcome.reports) {
      record.files.insert(record.files.end(), report.files.begin(), report.files.end());
    }
    if (outcome.comparison) record.files.push_back(*outcome.comparison);
    for (WrittenFile& file : record.files) file.path = file.path.lexically_relative(folder);
    for (const RunReport& report : outcome.reports) {
      if (!report.failed_pictures.empty()) throw report.failed_pictures[0];
    }
  }

  // Whether an earlier batch computed this document with the same options and files, and its
  // results are still there.
  bool is_done(const std::string& item, const FileHashList::value_type& input,
               const fs::path& folder, const FileAccess& access) {
    if (!earlier_) return false;
    const std::optional<SummaryRecord> before = earlier_->find(item);
    if (!before || before->item.error || before->options != asked_ || before->inputs.empty() ||
        before->inputs[0] != input) {
      return false;
    }
    if (!std::all_of(before->files.begin(), before->files.end(),
                     [&](const WrittenFile& file) { return is_there(folder, file); })) {
      return false;
    }
    if (hashes_.first_changed(std::span(before->inputs).subspan(1), access)) return false;
    // A program that was killed while it replaced the result may have left unfinished files.
    std::set<fs::path> folders;
    for (const WrittenFile& file : before->files) {
      folders.insert((folder / file.path).parent_path());
    }
    for (const fs::path& one : folders) remove_leftovers(one);
    return true;
  }

  // The hash is compared after the size: files that another run has replaced mostly differ in it.
  static bool is_there(const fs::path& folder, const WrittenFile& file) {
    const fs::path path = folder / file.path;
    std::error_code error;
    if (!fs::is_regular_file(fs::symlink_status(path, error)) ||
        fs::file_size(path, error) != file.bytes || error) {
      return false;
    }
    try {
      return content_hash(MappedFile::open(FileName::by_document(path))->bytes()) == file.hash;
    } catch (const Error&) {
      return false;  // computing the document replaces it
    }
  }

  // Items of the earlier batch that were not given this time: they keep lines and results.
  void tell_of_others() {
    const auto first = std::ranges::find(given_, false);
    if (first == given_.end()) return;
    outcome_.warnings.push_back(translated_count(
        static_cast<std::size_t>(std::ranges::count(given_, false)),
        "{1} item of the summary is not among the documents: {2}; its line stays, unless you "
        "start without BatchOptions::resume",
        "{1} items of the summary are not among the documents, such as {2}; their lines stay, "
        "unless you start without BatchOptions::resume",
        in_quotes(earlier_->name(static_cast<std::size_t>(first - given_.begin())))));
  }

  void note_as_given(const std::string& item) {
    if (!earlier_) return;
    if (const std::size_t at = earlier_->index_of(item); at < given_.size()) given_[at] = true;
  }

  const Description::Fields asked_;
  std::atomic<std::size_t> items_ =
      0;  ///< number of documents of all shards; so far, if they arrive one by one
  std::atomic<std::size_t> arrived_ = 0;  ///< number of documents that arrived one by one
  std::optional<Summaries> earlier_;
  std::vector<bool> given_;  ///< whether each item of `earlier_` is among the documents
  std::optional<SummaryFile> summary_;
  std::optional<SavedRecords> records_;  ///< of the summary, which its thread writes
  FileHashes hashes_;
  std::mutex guard_;
};

BatchOutcome joined(const Summaries& summaries, const fs::path& folder, const fs::path& path) {
  if (summaries.size() == 0) {
    throw Error(ErrorKind::file,
                translated("there is no summary of a batch in {1}", in_quotes(folder.native())),
                "merge_summaries()",
                translated("name the folder that was RunOptions::out of the batch"));
  }
  BatchOutcome outcome;
  outcome.warnings = summaries.warnings();
  outcome.summary = path;
  std::string newest;
  JoinedParts items;
  GroupedWarnings warned;
  Failures failures;
  AtomicFile merged(path);
  summaries.for_each([&](const std::string& line) {
    merged.write(line + "\n");
    const SummaryRecord record = read_record(line);
    // Documents of other items may have the same name, such as "standard input:1".
    const auto named = std::span(record.inputs).subspan(record.inputs.empty() ? 0 : 1);
    if (const std::string other = items.add(record.item.name, record.options, named);
        !other.empty()) {
      throw input_error(other, record.item.input,
                        translated("go on with BatchOptions::resume, which computes again what "
                                   "differs, or remove the summaries of other batches"));
    }
    if (record.finished > newest) {
      newest = record.finished;
      outcome.counts.items = record.items;
    }
    warned.add(record.item.name, record.item.warnings);
    if (!record.item.error) {
      ++outcome.counts.done;
      return;
    }
    ++outcome.counts.failed;
    failures.add(outcome.counts.failed, record.item);
  });
  merged.sync();
  merged.commit();
  outcome.counts.items = std::max(outcome.counts.items, summaries.size());
  if (const std::string missing = summary_files.missing_in(folder);
      outcome.counts.left() > 0 && !missing.empty()) {
    outcome.warnings.push_back(translated(
        "there is no summary of BatchOptions::shard {1}: compute that first, and merge again",
        missing));
  }
  std::ranges::move(warned.texts(), std::back_inserter(outcome.warnings));
  failures.tell(outcome);
  return outcome;
}

}  // namespace

BatchOutcome run_batch(const BatchOptions& options, const BatchObserver& observer,
                       const std::atomic<bool>* stop) {
  if (options.answer) {
    if (options.resume) {
      throw Error(ErrorKind::usage,
                  translated("answers on standard output leave nothing to continue from"),
                  "BatchOptions::resume",
                  translated("leave it out, or name a folder with RunOptions::out"));
    }
    return Answers(options, observer, stop).run();
  }
  return Batch(options, observer, stop).run();
}

BatchOutcome merge_summaries(const fs::path& folder) {
  const auto start = Clock::now();
  const fs::path path = folder / summary_files.name({});
  std::error_code none;
  // A running batch would lose the lines that it appends.
  std::optional<SummaryFile> locked;
  const bool is_new = !fs::exists(fs::symlink_status(path, none));
  if (!summary_files.in(folder, none).empty()) locked.emplace(path, true);
  try {
    BatchOutcome outcome = joined(Summaries::read(folder), folder, path);
    outcome.seconds = seconds_since(start);
    return outcome;
  } catch (...) {
    if (is_new && locked) fs::remove(path, none);
    throw;
  }
}

namespace {

// The counts that are to read, line by line: a name and its value.
std::string counts_text(const BatchOutcome& outcome) {
  const BatchCounts& counts = outcome.counts;
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    constexpr std::size_t name_columns = 9;
    text += padded_right(translated(name), name_columns) + value + "\n";
  };
  if (outcome.shard.count > 1) {
    add(to_translate("shard"),
        translated("{1} of {2}, counted from 0", outcome.shard.index, outcome.shard.count));
  }
  add(to_translate("items"), std::to_string(counts.items));
  add(to_translate("done"), std::to_string(counts.done));
  if (counts.skipped > 0)
    add(to_translate("skipped"), translated("{1}, finished before", counts.skipped));
  if (outcome.nothing_to_resume) {
    add(to_translate("skipped"), translated("0: {1} holds no earlier batch",
                                            in_quotes(outcome.summary.parent_path().native())));
  }
  add(to_translate("failed"), std::to_string(counts.failed));
  if (counts.left() > 0) {
    add(to_translate("left"),
        translated("{1}, to be done with BatchOptions::resume", counts.left()));
  }
  add(to_translate("seconds"), with_decimals(outcome.seconds, outcome.seconds < 10 ? 2 : 0));
  if (!outcome.summary.empty()) add(to_translate("summary"), printable(outcome.summary.native()));
  return text;
}

}  // namespace

std::string batch_text(const BatchOutcome& outcome) {
  std::string text = counts_text(outcome);
  if (outcome.reasons.empty()) return text;
  TextTable table{{{""}, {""}}};
  std::size_t more = outcome.counts.failed;
  for (const auto& [item, items] : outcome.reasons) {
    const std::string &problem = item.error->problem(), &where = item.error->where();
    const std::string place = where.empty() ? "" : place_for_readers(where);
    table.add({item.name, items == 1 ? problem : std::to_string(items) + " × " + problem});
    if (!place.empty()) table.add({"", items == 1 ? place : translated("the first: {1}", place)});
    more -= items;
  }
  text += translated("\nFailed\n") + table.text();
  if (more > 0) text += translated("  … and {1} more, in the summary\n", more);
  return text;
}

std::string batch_json(const BatchOutcome& outcome) {
  const BatchCounts& counts = outcome.counts;
  const auto failure = [](const BatchItem& item) {
    return object({{"item", item.name},
                   {"input", item.input},
                   {"status", item.status()},
                   {"problem", item.error->problem()},
                   {"where", item.error->where()},
                   {"help", item.error->help()}});
  };
  return json_text(object(
      {{"shard", only_if(outcome.shard.count > 1,
                         object({{"index", outcome.shard.index}, {"count", outcome.shard.count}}))},
       {"items", counts.items},
       {"done", counts.done},
       {"skipped", counts.skipped},
       {"failed", counts.failed},
       {"left", counts.left()},
       {"seconds", outcome.seconds},
       {"interrupted", outcome.interrupted},
       {"summary", only_if(!outcome.summary.empty(), outcome.summary)},
       {"warnings", outcome.warnings},
       {"failures", list_of(outcome.failures, failure)}}));
}

}  // namespace attn
