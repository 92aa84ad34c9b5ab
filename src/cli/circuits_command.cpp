#include <memory>
#include <string>
#include <vector>

#include "attn/circuits.hpp"
#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/terminal.hpp"

#include "cli/commands.hpp"
#include "cli/common_flags.hpp"
#include "cli/output.hpp"
#include "cli/picture_flags.hpp"

namespace attn::cli {
namespace {

struct GivenToCircuits {
  Common common;
  CircuitsOptions options;
  bool csv = false;
};

int read(const GivenToCircuits& given) {
  CircuitsOptions options = given.options;
  if (options.model.path.empty()) {
    throw Error(ErrorKind::usage, translated("no checkpoint folder given"), "attn-cli circuits",
                translated("name one folder, which holds config.json"));
  }
  if (given.csv && given.common.json) {
    throw Error(ErrorKind::usage, translated("--csv and --json are given together"),
                "attn-cli circuits", translated("choose one of them"));
  }
  options.threads = options.plot.figure.threads = given.common.threads;
  if (options.plots && !options.out) options.out = "attention_circuits";
  ProgressLine progress(given.common.quiet);
  const CircuitsOutcome outcome = read_circuits(options, [&](std::size_t done, std::size_t all) {
    progress.show([&] { return translated("{1} of {2} layers", done, all); });
  });
  progress.clear();
  if (!given.common.quiet) warn(outcome.warnings);
  const bool asked = given.common.json || given.csv || !options.out;
  if (given.common.quiet && !asked) return 0;
  print(given.common.json ? circuits_json(outcome)
        : given.csv       ? circuits_csv(outcome)
                          : terminal_lines(with_flags(circuits_text(outcome, options.top))));
  return 0;
}

}  // namespace

Command circuits_command() {
  const auto given = std::make_shared<GivenToCircuits>();
  CircuitsOptions& options = given->options;
  Command command{
      "circuits",
      translated("Read from a model's weights alone what its heads copy and how they feed each "
                 "other"),
      {"FOLDER",
       translated("Folder, file or name of a model"),
       [&options](const std::vector<std::string>& words) {
         if (words.empty()) return;
         if (words.size() != 1) {
           throw Error(ErrorKind::usage, translated("more than one checkpoint folder given"),
                       "attn-cli circuits", translated("name one folder, which holds config.json"));
         }
         options.model.path = words[0];
       },
       {},
       true},
      {},
      [given] { return read(*given); }};
  Flags& flags = command.flags;
  flags.begin_group(FlagGroup::model);
  flags.text("--architecture", options.model.architecture, "FILE",
             translated("JSON description of a model family, instead of the built-in one"));
  flags.add(
      "--tokens", "TOKEN,…",
      translated("Tokens whose rows of the full circuits are listed: what a head adds where "
                 "it looks at them, and what it looks for from there"),
      [&options](const std::string& text) { options.tokens = quoted_list("--tokens", text); });
  flags.add("--heads", "LAYER.HEAD,…",
            translated("Heads whose rows these are (default: the one that copies most)"),
            [&options](const std::string& text) { options.heads = listed("--heads", text); });
  add_files(flags, options.model.files);
  flags.begin_group(FlagGroup::output);
  flags
      .add("--top", "N", translated("Heads and pairs of heads to list, or all (default 10)"),
           [&options](const std::string& text) {
             options.top.reset();
             if (text != "all") options.top = whole_number("--top", text, 1);
           })
      .words = {"all"};
  flags.count("--listed", options.listed, "N", translated("Tokens to list of each row (default 5)"),
              1);
  flags.text("--out", options.out, "DIR",
             translated("Folder of tables and pictures (default attention_circuits, if there are "
                        "any)"));
  flags.toggle("--csv", given->csv,
               translated("Print comma-separated values: a line per number of heads and pairs"));
  flags.begin_group(FlagGroup::pictures);
  flags.toggle("--plots", options.plots,
               translated("Draw what heads copy, and the compositions of layers by layers"));
  flags.choice("--format", options.format, picture_formats(), "FORMAT");
  add_dpi(flags, options.plot.figure.dpi);
  add_figure_size(flags, options.plot.figure.figsize);
  add_colour_map(flags, options.plot.colors.cmap);
  flags.need({"--format", "--dpi", "--figsize", "--cmap"}, {"--plots"});
  flags.need({"--listed"}, {"--tokens"});
  add_common(flags, given->common);
  return command;
}

}  // namespace attn::cli
