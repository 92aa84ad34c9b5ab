#include <memory>

#include "attn/error.hpp"
#include "attn/explain.hpp"
#include "attn/language.hpp"
#include "attn/run.hpp"
#include "attn/terminal.hpp"
#include "attn/view.hpp"

#include "cli/commands.hpp"
#include "cli/common_flags.hpp"
#include "cli/flags.hpp"
#include "cli/output.hpp"

namespace attn::cli {
namespace {

struct GivenToRun {
  Common common;
  RunOptions options;
  TerminalChoice terminal;
  bool show = false;
  bool page = false;  // whether all maps go into a page beside the result
};

// Options of the page that has the colours and the title of the pictures.
ViewOptions page_of(const RunOptions& options) {
  ViewOptions page;
  page.title = options.plot.figure.title;
  page.cmap = options.plot.colors.cmap;
  page.color_range = options.plot.colors.range;
  return page;
}

// The heatmap of each attention, with its name above it if there are several.
std::string drawn(const RunOutcome& outcome, const TerminalOptions& terminal) {
  std::size_t count = 0;
  for (const RunReport& report : outcome.reports) count += report.weights.size();
  std::string text;
  for (const RunReport& report : outcome.reports) {
    for (const ReportedWeights& weights : report.weights) {
      text += "\n";
      if (count > 1)
        text += std::string(info(report.kind).name) + ": " + terminal_lines(weights.name) + "\n";
      text += draw_in_terminal(weights.heatmap, terminal);
    }
  }
  return text;
}

// Whether the result goes to standard output, to which nothing else may be written then.
bool answers_alone(const GivenToRun& given) {
  if (given.show && given.common.json) {
    throw Error(ErrorKind::usage,
                translated("--show and --json cannot both write to standard output"), "--show",
                translated("leave one of them out"));
  }
  if (!answers(given.options, given.common.json, "attn-cli run")) return false;
  if (given.show) {
    throw Error(ErrorKind::usage,
                translated("--show and --out - cannot both write to standard output"), "--show",
                translated("leave one of them out"));
  }
  if (given.page) {
    throw Error(ErrorKind::usage,
                translated("pictures cannot go to standard output together with the result"),
                "--plots",
                translated("leave out --plots, or give {1} a folder with --out", "attn-cli run"));
  }
  return true;
}

// Prints what is to be said of the outcome, and the report unless the result is the answer. Returns
// the exit code.
int report(RunOutcome& outcome, const GivenToRun& given, bool answering,
           const TerminalOptions& terminal) {
  int exit_code = 0;
  for (const RunReport& one : outcome.reports) {
    for (const Error& error : one.failed_pictures) {
      complain(with_flags(error.what()));
      exit_code = static_cast<int>(error.kind());
    }
  }
  for (RunReport& one : outcome.reports) {
    for (std::string& warning : one.warnings) warning = with_flags(warning);
    if (!given.common.quiet) warn(one.warnings);
  }
  const MapSelection& selection = given.options.selection;
  if (given.options.tensors == TensorFormat::csv && !given.common.quiet &&
      (selection.chosen_heads || given.options.head > 0)) {
    warn({translated("{1} chooses what is drawn and reported: files of tensors have all heads",
                     "--head")});
  }
  if (answering) return exit_code;
  if (given.common.json) {
    print(report_json(outcome));
  } else if (!given.common.quiet) {
    print(terminal_lines(with_flags(report_text(outcome, report_columns()))));
  }
  if (given.show) print(drawn(outcome, terminal));
  if (given.common.quiet) return exit_code;
  for (const RunReport& one : outcome.reports) {
    for (const auto& splits : one.splits) {
      if (!given.common.json) print("\n" + terminal_lines(explain_splits(*splits)));
    }
  }
  return exit_code;
}

// Refuses an object, which names a file as documents do.
void refuse_object(const std::optional<std::filesystem::path>& gradient) {
  if (!gradient || !gradient->string().starts_with('{')) return;
  throw invalid_value("--gradient", gradient->string(),
                      translated("write {1} into the document",
                                 R"("gradient": {"output": )" + gradient->string() + "}"));
}

int compute(const GivenToRun& given) {
  const Common& common = given.common;
  refuse_object(given.options.document.gradient);
  const bool answering = answers_alone(given);
  RunOptions options = given.options;
  take_query_of_split(options);
  if (answering) options.answer = print_result;
  options.reported_weights = given.show;
  options.says_document = true;
  options.document.threads = options.plot.figure.threads = common.threads;
  TerminalOptions terminal = terminal_options(given.terminal, common);
  terminal.cmap = options.plot.colors.cmap;
  ProgressLine progress(common.quiet);
  if (progress.shown()) {
    using Clock = ProgressLine::Clock;
    options.progress = [&progress, start = Clock::now()](std::size_t done, std::size_t all) {
      progress.show([&] {
        return progress_text(done, all,
                             std::chrono::duration<double>(Clock::now() - start).count());
      });
    };
  }
  show_generation(options.document, progress);
  if (!common.quiet) {
    options.foresee = [&progress](const std::string& text) {
      progress.clear();
      complain(text);
    };
  }
  RunOutcome outcome = given.page ? run_and_view(options, page_of(options)) : run(options);
  progress.clear();
  return report(outcome, given, answering, terminal);
}

}  // namespace

Command run_command() {
  const auto given = std::make_shared<GivenToRun>();
  Command command{"run",
                  translated("Compute one input document and draw it"),
                  document_words(given->options.document, "attn-cli run"),
                  {},
                  [given] { return compute(*given); }};
  add_document(command.flags, given->options.document);
  add_results(command.flags, given->options, &given->page);
  add_splits(command.flags, given->options.document);
  command.flags.begin_group(FlagGroup::output);
  command.flags.text("--gradient", given->options.document.gradient, "FILE",
                     translated("Gradient of the output; the gradients of everything it was "
                                "computed from are written too"));
  command.flags.toggle("--show", given->show, translated("Draw the heatmap in the terminal too"));
  add_terminal(command.flags, given->terminal);
  command.flags.need({"--color", "--width"}, {"--show"});
  add_common(command.flags, given->common);
  return command;
}

}  // namespace attn::cli
