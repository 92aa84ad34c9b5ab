#include "cli/run_command.hpp"

#include "attn/error.hpp"
#include "attn/run.hpp"

#include "cli/document_flags.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "cli/run_flags.hpp"
#include "cli/terminal.hpp"

namespace attn::cli {
namespace {

// The heatmap of each attention, below its name where there are several.
std::string drawn(const RunOutcome& outcome, const TerminalOptions& terminal) {
  std::size_t count = 0;
  for (const RunReport& report : outcome.reports) count += report.weights.size();
  std::string text;
  for (const RunReport& report : outcome.reports) {
    for (const ReportedWeights& weights : report.weights) {
      text += "\n";
      if (count > 1) text += std::string(info(report.kind).name) + ": " + weights.name + "\n";
      text += draw_in_terminal(weights.heatmap, terminal);
    }
  }
  return text;
}

}  // namespace

int run_command(const RunArguments& arguments) {
  if (arguments.show && arguments.common.json) {
    throw Error(ErrorKind::usage, "--show and --json cannot both write to standard output",
                "--show", "leave one of them out");
  }
  RunOptions options = run_options(arguments);
  options.input = one_input(arguments, "attn-cli run");
  TerminalOptions terminal = terminal_options(arguments.terminal, arguments.common);
  terminal.cmap = options.plot.cmap;
  ProgressLine progress(arguments.common.quiet);
  if (progress.shown()) {
    options.progress = [&](std::size_t done, std::size_t all) { progress.show(done, all); };
  }
  const RunOutcome outcome = run(options);
  progress.clear();
  if (arguments.common.quiet) return 0;
  for (const RunReport& report : outcome.reports) warn(report.warnings);
  print(arguments.common.json ? report_json(outcome) : report_text(outcome));
  if (arguments.show) print(drawn(outcome, terminal));
  return 0;
}

}  // namespace attn::cli
