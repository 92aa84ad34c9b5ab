#include "batch/document_work.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "batch/items.hpp"
#include "models/model_folder.hpp"
#include "run/document_run.hpp"
#include "support/mapped_file.hpp"
#include "support/seconds_since.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// The error that `attn-cli run` would end with after this exception.
Error error_of(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) {
    return input_error(
        translated("there is not enough memory"), "",
        translated("make the tensors smaller, run fewer jobs, or raise the memory limit"));
  }
  return {ErrorKind::internal, exception.what(), "",
          translated("this is a bug in attn-cli: please report it with the input that shows it")};
}

// Applies BatchOptions::wording, if it is there.
void reword(BatchItem& item, const BatchOptions& options) {
  const auto& wording = options.wording;
  if (!wording) return;
  for (std::string& warning : item.warnings) warning = wording(warning);
  if (!item.error) return;
  const Error& error = *item.error;
  item.error =
      Error(error.kind(), wording(error.problem()), wording(error.where()), wording(error.help()));
}

}  // namespace

DocumentWork::DocumentWork(BatchOptions options, BatchObserver observer,
                           const std::atomic<bool>* stop)
    : options_(std::move(options)),
      observer_(std::move(observer)),
      stop_(stop),
      files_(options_.run.document.files) {
  const auto& [index, parts] = outcome_.shard = options_.shard;
  if (index >= parts) {
    throw Error(ErrorKind::usage,
                translated("there is no part {1} of {2}: parts count from 0", index, parts),
                "BatchOptions::shard", translated("give 0/{1} for the first of them", parts));
  }
  // A checkpoint that many documents name is read once.
  files_.models = std::make_shared<ModelFolders>();
}

void DocumentWork::attempt(BatchItem& item,
                           const std::function<void(const FileAccess&)>& compute) const {
  const auto start = std::chrono::steady_clock::now();
  try {
    with_whole_files(files_, [&](const FileAccess& access) {
      compute(access);
      return true;
    });
  } catch (const std::exception& exception) {
    item.skipped = false;
    item.error = error_of(exception);
  }
  reword(item, options_);
  item.seconds = seconds_since(start);
}

RunOptions DocumentWork::options_of_one(const FileAccess& access) const {
  RunOptions options = options_.run;
  options.document.files = access;
  if (options.document.threads == 0) options.document.threads = 1;
  return options;
}

RunOutcome DocumentWork::run_one(const RunOptions& options, Document document,
                                 const Provenance* read, BatchItem& item) {
  RunOutcome outcome = run_document(options, std::move(document), read);
  for (const RunReport& report : outcome.reports) {
    item.warnings.insert(item.warnings.end(), report.warnings.begin(), report.warnings.end());
  }
  return outcome;
}

void DocumentWork::count(const BatchItem& item, std::size_t order) {
  BatchCounts& counts = outcome_.counts;
  ++(item.skipped ? counts.skipped : item.error ? counts.failed : counts.done);
  warned_.add(item.name.empty() ? item.input : item.name, item.warnings);
  if (item.error) failures_.add(order, item);
  if (item.error && options_.fail_fast) failed_fast_ = true;
  if (observer_) observer_(item, counts);
}

BatchOutcome DocumentWork::outcome() {
  outcome_.seconds = seconds_since(start_);
  outcome_.interrupted = is_interrupted();
  std::ranges::move(warned_.texts(), std::back_inserter(outcome_.warnings));
  failures_.tell(outcome_);
  return std::move(outcome_);
}

}  // namespace attn
