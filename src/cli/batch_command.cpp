#include "cli/batch_command.hpp"

#include <cstdlib>

#include "attn/batch.hpp"
#include "attn/error.hpp"

#include "cli/batch_progress.hpp"
#include "cli/flag_values.hpp"
#include "cli/interrupt.hpp"
#include "cli/output.hpp"
#include "cli/run_flags.hpp"

namespace attn::cli {
namespace {

constexpr int some_failed = 1, interrupted = 130;

Shard shard_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    throw Error(ErrorKind::usage, "\"" + text + "\" is not what --shard takes", "--shard",
                "give the part, from 0, and the number of parts, such as 0/4");
  }
  return {whole_number("--shard", text.substr(0, slash)),
          whole_number("--shard", text.substr(slash + 1), 1)};
}

// What was asked for, else what the engine says that started this process.
Shard chosen_shard(const BatchArguments& arguments) {
  if (arguments.shard) return shard_of(*arguments.shard);
  const auto found = find_shard([](const char* name) { return std::getenv(name); });
  if (!found) return {};
  if (!arguments.common.quiet) {
    complain("shard " + std::to_string(found->shard.index) + " of " +
             std::to_string(found->shard.count) + ", from 0, as " + found->source + " say");
  }
  return found->shard;
}

BatchOptions options_of(const BatchArguments& arguments) {
  BatchOptions options;
  options.inputs = arguments.inputs;
  if (arguments.files_from) options.files_from = *arguments.files_from;
  options.run = run_options(arguments);
  if (arguments.jobs) options.jobs = whole_number("--jobs", *arguments.jobs, 1);
  options.shard = chosen_shard(arguments);
  options.resume = arguments.resume;
  options.fail_fast = arguments.fail_fast;
  return options;
}

void print_report(const BatchOutcome& outcome, const CommonArguments& common) {
  if (!common.quiet) print(common.json ? batch_json(outcome) : batch_text(outcome));
}

int merge(const BatchArguments& arguments) {
  if (!arguments.inputs.empty() || arguments.files_from) {
    throw Error(ErrorKind::usage, "--merge takes no documents", "--merge",
                "give either documents or --merge DIR");
  }
  const BatchOutcome outcome = merge_summaries(*arguments.merge);
  print_report(outcome, arguments.common);
  return outcome.counts.failed + outcome.counts.left() > 0 ? some_failed : 0;
}

}  // namespace

int batch_command(const BatchArguments& arguments) {
  if (arguments.merge) return merge(arguments);
  const BatchOptions options = options_of(arguments);
  BatchProgress progress(arguments.common);
  const BatchOutcome outcome = run_batch(
      options,
      [&](const BatchItem& item, const BatchCounts& counts) { progress.update(item, counts); },
      &stop_at_interrupt());
  progress.finish();
  print_report(outcome, arguments.common);
  if (outcome.interrupted) return interrupted;
  return outcome.counts.failed > 0 ? some_failed : 0;
}

}  // namespace attn::cli
