#include <cstdlib>
#include <memory>
#include <optional>

#include "attn/batch.hpp"
#include "attn/error.hpp"
#include "attn/language.hpp"

#include "cli/batch_progress.hpp"
#include "cli/commands.hpp"
#include "cli/common_flags.hpp"
#include "cli/document_flags.hpp"
#include "cli/exit_codes.hpp"
#include "cli/flags_of_fields.hpp"
#include "cli/interrupt.hpp"
#include "cli/output.hpp"
#include "cli/run_flags.hpp"
#include "cli/shard_flags.hpp"

namespace attn::cli {
namespace {

struct GivenToBatch {
  Common common;
  BatchOptions options;
  std::optional<Shard> shard;
  std::optional<std::filesystem::path> merge;
};

void print_report(const BatchOutcome& outcome, const Common& common) {
  if (common.quiet) return;
  warn(outcome.warnings);
  print(common.json ? batch_json(outcome) : with_flags(batch_text(outcome)));
}

int merge(const GivenToBatch& given) {
  if (!given.options.inputs.empty() || given.options.files_from) {
    throw Error(ErrorKind::usage, translated("--merge takes no documents"), "--merge",
                translated("give either documents or --merge DIR"));
  }
  const BatchOutcome outcome = merge_summaries(*given.merge);
  print_report(outcome, given.common);
  return outcome.counts.failed + outcome.counts.left() > 0 ? some_failed_code : 0;
}

int compute(const GivenToBatch& given) {
  if (given.merge) return merge(given);
  BatchOptions options = given.options;
  options.run.threads = options.run.plot.figure.threads = given.common.threads;
  options.shard = given.shard ? *given.shard : shard_of_engine(given.common.quiet);
  options.wording = [](const std::string& text) { return with_flags(text); };
  const bool answering = answers(options.run, given.common.json, "attn-cli batch");
  if (answering) options.answer = [](std::string_view line) { print(line); };
  BatchProgress progress(given.common, answering);
  const BatchOutcome outcome = run_batch(
      options,
      [&](const BatchItem& item, const BatchCounts& counts) { progress.update(item, counts); },
      &stop_at_interrupt());
  progress.finish();
  if (!answering) print_report(outcome, given.common);
  if (outcome.interrupted) return interrupted_code;
  return outcome.counts.failed > 0 ? some_failed_code : 0;
}

}  // namespace

Command batch_command() {
  const auto given = std::make_shared<GivenToBatch>();
  BatchOptions& options = given->options;
  Command command{
      "batch",
      translated("Compute many input documents"),
      {"INPUT",
       translated(
           "Documents, folders, patterns, .jsonl files; - for a document a line on standard input"),
       [&options](const std::vector<std::string>& inputs) { options.inputs = inputs; },
       {},
       true},
      {},
      [given] { return compute(*given); }};
  Flags& flags = command.flags;
  add_document(flags, options.run);
  flags.text("--files-from", options.files_from, "LIST",
             translated("File with an input a line, - for standard input"));
  flags.count("--jobs", options.jobs, "N", translated("Documents at a time (default: all cores)"),
              1);
  flags.toggle("--resume", options.resume,
               translated("Leave alone what an earlier batch finished"));
  flags.toggle("--fail-fast", options.fail_fast,
               translated("Stop at the first document that fails"));
  flags.add("--shard", "I/N",
            translated("Do only part I of N, from 0 (default: as Slurm, MPI or Kubernetes say)"),
            [given = given.get()](const std::string& text) { given->shard = shard_of(text); });
  flags.text("--merge", given->merge, "DIR", translated("Join the summaries of all shards in DIR"));
  add_results(flags, options.run);
  add_common(flags, given->common, translated("Threads for each document (default 1)"));
  return command;
}

}  // namespace attn::cli
