#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "attn/batch.hpp"
#include "attn/document.hpp"
#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/model.hpp"
#include "attn/terminal.hpp"

#include "cli/commands.hpp"
#include "cli/common_flags.hpp"
#include "cli/flags.hpp"
#include "cli/output.hpp"
#include "cli/process.hpp"

namespace attn::cli {
namespace {

struct GivenToBatch {
  Common common;
  BatchOptions options;
  std::optional<Shard> shard;
  std::optional<std::filesystem::path> merge;
};

constexpr std::chrono::milliseconds bar_interval{100};
constexpr std::chrono::seconds line_interval{5};
// Failures beyond this number are only counted; the summary has them all.
constexpr std::size_t most_failures_printed = 20;

// The progress of a batch on standard error: a bar with the rate and the time left on a terminal, a
// line every few seconds elsewhere, neither with --quiet. The first failures are printed at once.
class BatchProgress {
 public:
  // `answers`: results go to standard output, in a number that is unknown, so that only failures
  // are printed.
  BatchProgress(const Common& common, bool answers);

  void update(const BatchItem& item, const BatchCounts& counts);
  void finish() { line_.clear(); }

 private:
  using Clock = ProgressLine::Clock;

  std::string state(const BatchCounts& counts) const;
  std::string bar(const BatchCounts& counts) const;

  bool quiet_, answers_;
  ProgressLine line_;
  std::size_t failures_printed_ = 0;
  Clock::time_point start_ = Clock::now(), printed_at_ = start_;
};

BatchProgress::BatchProgress(const Common& common, bool answers)
    : quiet_(common.quiet), answers_(answers), line_(common.quiet, {}, bar_interval) {}

std::string BatchProgress::state(const BatchCounts& counts) const {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const std::size_t computed = counts.done + counts.failed;
  std::string text =
      std::to_string(counts.items - counts.left()) + "/" + std::to_string(counts.items);
  if (computed > 0 && seconds > 0) {
    const double rate = static_cast<double>(computed) / seconds;
    text += translated("  {1}/s  {2} left", rate_text(rate),
                       duration_text(static_cast<double>(counts.left()) / rate));
  }
  if (counts.failed > 0) text += translated("  {1} failed", counts.failed);
  return text;
}

std::string BatchProgress::bar(const BatchCounts& counts) const {
  const std::string text = state(counts);
  const std::size_t width = terminal_columns(), around = text.size() + 5;
  if (width < around + 10) return text.substr(0, width - 1);
  const std::size_t room = std::min<std::size_t>(width - around, 40);
  const std::size_t filled = room * (counts.items - counts.left()) / counts.items;
  return "[" + std::string(filled, '#') + std::string(room - filled, ' ') + "] " + text;
}

void BatchProgress::update(const BatchItem& item, const BatchCounts& counts) {
  if (item.error && failures_printed_ < most_failures_printed) {
    ++failures_printed_;
    line_.clear();
    const Error& error = *item.error;
    complain(Error(error.kind(),
                   item.name.empty() ? error.problem()
                                     : translated("{1}: {2}", item.name, error.problem()),
                   error.where(), error.help())
                 .what());
    if (failures_printed_ == most_failures_printed) {
      complain(answers_ ? translated("further failures are on standard output alone")
                        : translated("further failures are only counted here; the summary has "
                                     "them all"));
    }
  }
  if (answers_ || quiet_) return;
  if (line_.shown()) {
    line_.show([&] { return bar(counts); }, counts.left() == 0);
  } else if (const auto now = Clock::now(); now - printed_at_ >= line_interval) {
    complain(state(counts));
    printed_at_ = now;
  }
}

void report(const BatchOutcome& outcome, const Common& common) {
  if (!common.quiet) warn(outcome.warnings);
  if (common.quiet && !common.json) return;
  print(common.json ? batch_json(outcome) : terminal_lines(with_flags(batch_text(outcome))));
}

int merge(const GivenToBatch& given) {
  if (!given.options.inputs.empty() || given.options.files_from) {
    throw Error(ErrorKind::usage, translated("--merge takes no documents"), "--merge",
                translated("give either documents or --merge DIR"));
  }
  const BatchOutcome outcome = merge_summaries(*given.merge);
  report(outcome, given.common);
  return outcome.counts.failed + outcome.counts.left() > 0 ? some_failed_code : 0;
}

// Whether a word is the names of existing files with commas or spaces between.
bool names_several(std::string_view word) {
  std::error_code none;
  std::size_t count = 0;
  while (!word.empty()) {
    const std::size_t end = std::min(word.find_first_of(", "), word.size());
    const std::string_view name = word.substr(0, end);
    if (!name.empty() && !std::filesystem::exists(name, none)) return false;
    count += name.empty() ? 0 : 1;
    word.remove_prefix(std::min(end + 1, word.size()));
  }
  return count > 1;
}

// Throws Error(usage) for a .txt file of texts without a model that reads them, or of names.
void refuse_texts(const std::string& word) {
  std::error_code none;
  if (!word.ends_with(".txt") || !std::filesystem::is_regular_file(word, none)) return;
  std::string line;
  std::getline(std::ifstream(word), line);
  while (line.ends_with('\r') || line.ends_with(' ')) line.pop_back();
  if (line.empty() || line.find_first_of("{[") != std::string::npos) return;
  const bool names = std::filesystem::exists(line, none);
  throw Error(ErrorKind::usage,
              names ? translated("\"{1}\" has names of files", word)
                    : translated("\"{1}\" has texts, which a model reads", word),
              "attn-cli batch",
              names ? translated("write {1}", "--files-from " + word)
                    : translated("name the model with {1}", "--model DIR"));
}

// Throws Error(usage) for the folder of a batch's results in place of its documents.
void refuse_batch_folder(const std::string& word, bool resume) {
  std::error_code none;
  if (!resume || !std::filesystem::exists(word + "/summary.jsonl", none)) return;
  throw Error(
      ErrorKind::usage, translated("\"{1}\" has the results of a batch, not its documents", word),
      "attn-cli batch", translated("write {1}", "attn-cli batch INPUT… --resume --out " + word));
}

// Throws Error(usage) for texts in place of their files, and for several files in one word.
void check_words(const BatchOptions& options) {
  const std::string of_texts =
      translated("write the texts into a .txt file, one per line, and name it");
  const DocumentOptions& document = options.run.document;
  if (options.inputs.empty() && !options.files_from && !document.texts.empty())
    throw Error(ErrorKind::usage, translated("no input documents given"), "attn-cli batch",
                of_texts);
  std::error_code none;
  if (options.files_from && std::filesystem::is_directory(*options.files_from, none)) {
    throw Error(ErrorKind::usage, translated("\"{1}\" is a folder", options.files_from->string()),
                "--files-from", translated("name it without {1}", "--files-from"));
  }
  for (const std::string& word : options.inputs) {
    if (!document.model && options.inputs.size() == 1) refuse_texts(word);
    refuse_batch_folder(word, options.resume);
    if (is_file(word)) continue;
    if (word == "merge" && options.inputs.size() == 2) {
      throw Error(ErrorKind::usage, translated("there is no document \"{1}\"", word),
                  "attn-cli batch",
                  translated("write {1}", "attn-cli batch --merge " + options.inputs[1]));
    }
    if (names_several(word)) {
      throw Error(ErrorKind::usage, translated("\"{1}\" names several files", word),
                  "attn-cli batch",
                  translated("name them one by one, with spaces between and without quotes"));
    }
    if (document.model && word.find_first_of("./*?[") == std::string::npos) {
      throw Error(ErrorKind::usage, translated("there is no document \"{1}\"", word),
                  "attn-cli batch", of_texts);
    }
  }
}

int compute(const GivenToBatch& given) {
  if (given.merge) return merge(given);
  check_words(given.options);
  BatchOptions options = given.options;
  options.run.document.threads = options.run.plot.figure.threads = given.common.threads;
  take_query_of_split(options.run);
  if (FileAccess& files = options.run.document.files; files.restrict_to) {
    // Untrusted documents.
    constexpr double most_work = 1e12, most_seconds = 60;
    files.limits.work = files.limits.work.value_or(most_work);
    files.limits.seconds = files.limits.seconds.value_or(most_seconds);
  }
  options.wording = [](const std::string& text) { return with_flags(text); };
  const bool answering = answers(options.run, given.common.json, "attn-cli batch");
  // Answers leave no summary that would show which documents are missing, so that even --quiet
  // tells the shard: a service may have inherited the variables of an engine.
  options.shard = given.shard ? *given.shard : shard_of_engine(given.common.quiet && !answering);
  if (answering) options.answer = print_result;
  BatchProgress progress(given.common, answering);
  const BatchOutcome outcome = run_batch(
      options,
      [&](const BatchItem& item, const BatchCounts& counts) { progress.update(item, counts); },
      &stop_at_interrupt());
  progress.finish();
  if (!answering) {
    report(outcome, given.common);
  } else if (!given.common.quiet) {
    warn(outcome.warnings);
  }
  if (outcome.interrupted) return interrupted_code;
  return outcome.counts.failed > 0 ? some_failed_code : 0;
}

}  // namespace

Command batch_command() {
  const auto given = std::make_shared<GivenToBatch>();
  BatchOptions& options = given->options;
  Command command{"batch",
                  translated("Compute many input documents"),
                  {"INPUT…",
                   translated("Documents, folders, patterns, .jsonl files; - for standard input, "
                              "one document per line"),
                   [&options](const std::vector<std::string>& inputs) { options.inputs = inputs; },
                   {},
                   true},
                  {},
                  [given] { return compute(*given); }};
  Flags& flags = command.flags;
  add_document(flags, options.run.document);
  flags.begin_group(FlagGroup::input);
  flags.text("--files-from", options.files_from, "LIST",
             translated("File with one input per line, - for standard input"));
  flags.count("--jobs", options.jobs, "N",
              translated("Documents to compute at the same time (default: all cores)"), 1);
  flags.toggle("--resume", options.resume, translated("Skip what an earlier batch finished"));
  flags.toggle("--fail-fast", options.fail_fast,
               translated("Stop at the first document that fails"));
  flags.add(
      "--shard", "I/N",
      translated("Do only part I of N, counted from 0 (default: as Slurm, MPI or Kubernetes say)"),
      [given = given.get()](const std::string& text) { given->shard = shard_of(text); });
  flags.text("--merge", given->merge, "DIR", translated("Join the summaries of all shards in DIR"));
  add_results(flags, options.run);
  add_splits(flags, options.run.document);
  add_common(flags, given->common, translated("Threads for each document (default 1)"));
  constexpr std::string_view of_merging[]{"--merge",    "--files-from", "--json",
                                          "--no-color", "--quiet",      "--lang"};
  for (Flag& flag : flags) {
    if (std::ranges::count(of_merging, flag.name) == 0) flag.idle_with = {"--merge"};
  }
  return command;
}

namespace {

struct GivenToValidate {
  Common common;
  BatchOptions batch;  ///< the documents, and a model with what it reads
  bool strict = false;
};

int check(const GivenToValidate& given) {
  const DocumentOptions& model = given.batch.run.document;
  const bool reads = !model.texts.empty() || !model.images.empty() || !model.sounds.empty();
  if (reads && !model.model) {
    throw Error(ErrorKind::usage, translated("--text or --image is given without --model"),
                "attn-cli validate",
                translated("name the checkpoint folder that reads it with --model"));
  }
  if (given.batch.inputs.empty() && !given.batch.files_from && !model.model) {
    throw Error(ErrorKind::usage, translated("no input document given"), "attn-cli validate",
                translated("name documents, folders or .jsonl files, or - for standard input"));
  }
  int exit_code = 0;
  std::vector<CheckedDocument> documents;
  if (model.model && !reads) {
    documents.push_back({validate_model({*model.model, model.architecture, model.files})});
  }
  try {
    validate_batch(given.batch,
                   [&](CheckedDocument document) { documents.push_back(std::move(document)); });
  } catch (const Error& error) {
    const bool of_inputs = error.where() == "BatchOptions::inputs";
    throw of_inputs ? Error(error.kind(), error.problem(), "attn-cli validate", error.help())
                    : error;
  }
  const bool told = !given.common.quiet || given.common.json;
  for (CheckedDocument& validation : documents) {
    const auto complain_of = [&](const std::string& text) {
      complain(translated("{1}: {2}", validation.input, text));
    };
    for (Error& problem : validation.problems) problem = with_flags(problem);
    for (std::string& warning : validation.warnings) warning = with_flags(warning);
    for (const Error& problem : validation.problems) {
      exit_code = std::max(exit_code, static_cast<int>(problem.kind()));
      if (!told) complain_of(problem.what());
    }
    if (!given.strict) continue;
    for (const std::string& warning : validation.warnings) {
      exit_code = std::max(exit_code, static_cast<int>(ErrorKind::input));
      if (!told) complain_of(translated("warning: {1}", warning));
    }
  }
  if (!told) return exit_code;
  print(given.common.json ? checked_json(documents) : terminal_lines(checked_text(documents)));
  return exit_code;
}

}  // namespace

Command validate_command() {
  const auto given = std::make_shared<GivenToValidate>();
  Command command{"validate",
                  translated("Check documents without computing them"),
                  {"INPUT…",
                   translated("Documents, folders, patterns, .jsonl files; - for standard input"),
                   [given = given.get()](const std::vector<std::string>& inputs) {
                     given->batch.inputs = inputs;
                   },
                   {},
                   true},
                  {},
                  [given] { return check(*given); }};
  add_model(command.flags, given->batch.run.document);
  command.flags.begin_group(FlagGroup::input);
  command.flags.text("--files-from", given->batch.files_from, "LIST",
                     translated("File with one input per line, - for standard input"));
  add_files(command.flags, given->batch.run.document.files);
  command.flags.begin_group(FlagGroup::output);
  command.flags.toggle("--strict", given->strict, translated("Doubts too give exit code 3"));
  add_common(command.flags, given->common);
  return command;
}

}  // namespace attn::cli
