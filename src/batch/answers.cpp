#include "batch/answers.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "attn/document.hpp"

#include "batch/arriving_documents.hpp"
#include "batch/batch_document.hpp"
#include "batch/items.hpp"
#include "models/model_folder.hpp"
#include "run/document_run.hpp"
#include "support/mapped_file.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

/// Takes documents, computes several at a time, and tells their answers in order.
class Answers {
 public:
  Answers(const BatchOptions& options, const BatchObserver& observer, const std::atomic<bool>* stop)
      : options_(options),
        observer_(observer),
        stop_(stop),
        jobs_(thread_count(jobs_in_memory(options.jobs))),
        files_(options.run.document.files),
        documents_(options, stop) {
    // A checkpoint that many documents name is read once.
    files_.models = std::make_shared<ModelFolders>();
    outcome_.shard = options.shard;
  }

  BatchOutcome run() {
    const auto start = std::chrono::steady_clock::now();
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
    outcome_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    outcome_.interrupted = stop_ != nullptr && *stop_;
    return std::move(outcome_);
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
    const auto start = std::chrono::steady_clock::now();
    std::string line;
    try {
      line = with_whole_files(files_, [&](const FileAccess& access) {
        return answer(arrived->document, arrived->text(), access, item);
      });
    } catch (const std::exception& exception) {
      item.error = error_of(exception);
      reword(item, options_);
      line = error_json(*item.error);
    }
    item.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    tell(number, std::move(line), std::move(item));
    return true;
  }

  // Answers that wait for one before them are not to become many.
  bool wait_for_room() {
    constexpr std::size_t ahead = 16;  // of each job
    std::unique_lock lock(told_guard_);
    told_more_.wait(lock, [&] { return ended_ || taken_ - told_ < ahead * jobs_; });
    return !ended_ && (stop_ == nullptr || !*stop_);
  }

  std::string answer(const ListedDocument& document, const DocumentText& text,
                     const FileAccess& access, BatchItem& item) const {
    RunOptions options = options_.run;
    options.document.files = access;
    if (options.document.threads == 0) options.document.threads = 1;
    std::string line;
    options.answer = [&](std::string_view piece) { line += piece; };
    options.answer_in_one_line = true;
    Provenance provenance;
    if (options.provenance) {
      provenance.watch(options.document.files);
      provenance.add(item.input, std::as_bytes(std::span(text.text)));
    }
    const RunOutcome outcome =
        run_document(options, open_batch_document(document, text, options.document, item.input),
                     options.provenance ? &provenance : nullptr);
    for (const RunReport& report : outcome.reports) {
      item.warnings.insert(item.warnings.end(), report.warnings.begin(), report.warnings.end());
    }
    return line;
  }

  void tell(std::size_t number, std::string line, BatchItem item) {
    const std::lock_guard lock(told_guard_);
    waiting_.emplace(number, std::pair(std::move(line), std::move(item)));
    for (auto next = waiting_.begin();
         next != waiting_.end() && next->first == told_ && !ended_fast_;
         next = waiting_.erase(next)) {
      const auto& [text, told] = next->second;
      options_.answer(text);
      ++told_;
      count(told);
    }
    told_more_.notify_all();
  }

  void count(const BatchItem& item) {
    ++outcome_.counts.items;
    ++(item.error ? outcome_.counts.failed : outcome_.counts.done);
    if (item.error && outcome_.failures.size() < most_failures_kept) {
      outcome_.failures.push_back(item);
    }
    if (item.error && options_.fail_fast) ended_ = ended_fast_ = true;
    if (observer_) observer_(item, outcome_.counts);
  }

  const BatchOptions& options_;
  const BatchObserver& observer_;
  const std::atomic<bool>* stop_;
  std::size_t jobs_;
  FileAccess files_;
  ArrivingDocuments documents_;
  std::mutex taking_guard_;
  std::atomic<std::size_t> taken_ = 0;
  std::mutex told_guard_;
  std::condition_variable told_more_;
  std::map<std::size_t, std::pair<std::string, BatchItem>> waiting_;  // for those before them
  std::size_t told_ = 0;
  std::atomic<bool> ended_ = false;
  bool ended_fast_ = false;
  BatchOutcome outcome_;
};

}  // namespace

BatchOutcome answer_documents(const BatchOptions& options, const BatchObserver& observer,
                              const std::atomic<bool>* stop) {
  if (options.resume) {
    throw Error(
        ErrorKind::usage, translated("answers leave nothing behind that could be gone on with"),
        "BatchOptions::resume", translated("leave it out, or name a folder with RunOptions::out"));
  }
  return Answers(options, observer, stop).run();
}

}  // namespace attn
