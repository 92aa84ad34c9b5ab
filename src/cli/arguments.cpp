#include "cli/arguments.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "attn/attn.hpp"

#include "cli/batch_command.hpp"
#include "cli/bench_command.hpp"
#include "cli/compare_command.hpp"
#include "cli/completion_command.hpp"
#include "cli/example_command.hpp"
#include "cli/explain_command.hpp"
#include "cli/flag_values.hpp"
#include "cli/list_command.hpp"
#include "cli/manual_command.hpp"
#include "cli/output.hpp"
#include "cli/plot_command.hpp"
#include "cli/run_command.hpp"
#include "cli/schema_command.hpp"
#include "cli/show_command.hpp"
#include "cli/validate_command.hpp"

namespace attn::cli {
namespace {

void add_text(CLI::App& app, const std::string& flag, Text& target, const std::string& value,
              const std::string& help) {
  app.add_option(flag, target, help)->type_name(value);
}

void add_common(CLI::App& app, CommonArguments& common,
                const char* threads = "Threads to compute with (default: all cores)") {
  app.add_flag("--json", common.json, "Print the report as JSON");
  app.add_flag("--quiet", common.quiet, "Print nothing but errors");
  app.add_flag("--no-color", common.no_color, "Print without colours");
  add_text(app, "--threads", common.threads, "N", threads);
  add_text(app, "--cpu", common.cpu, "TARGET",
           "Instruction set to compute with: see attn-cli list (default: the best)");
}

void add_terminal(CLI::App& app, TerminalArguments& terminal) {
  add_text(app, "--color", terminal.color, "WHEN",
           "always, never or auto: colours in the terminal");
  add_text(app, "--width", terminal.width, "N", "Columns to draw on (default: the terminal's)");
}

/// Which part of the weights is drawn.
void add_selection(CLI::App& app, PictureArguments& picture) {
  add_text(app, "--sample", picture.sample, "N", "Sample to draw, from 0");
  add_text(app, "--head", picture.head, "N",
           "Head to draw, from 0, or mean, max, or all side by side");
  add_text(app, "--queries", picture.queries, "A:B", "Queries to draw, from A up to before B");
  add_text(app, "--keys", picture.keys, "A:B", "Keys to draw, from A up to before B");
  add_text(app, "--drop-first", picture.drop_first, "N",
           "Leave out the first N keys, as those of an attention sink");
  app.add_flag("--renormalize", picture.renormalize,
               "Divide the rows of the keys that are left by their sums");
  app.add_flag("--merge-pieces", picture.merge_pieces,
               "Join pieces of words: keys are summed, queries averaged");
  app.add_flag("--hide-mask", picture.hide_mask, "Draw hidden cells as plain zeros");
}

void add_picture(CLI::App& app, PictureArguments& picture) {
  add_selection(app, picture);
  add_text(app, "--top", picture.top, "K", "For lines: only the K strongest keys of each query");
  add_text(app, "--threshold", picture.threshold, "X", "For lines: only weights of at least X");
  add_text(app, "--style", picture.style, "NAME",
           "standard, or matplotlib for its look to the letter");
  add_text(app, "--title", picture.title, "TEXT", "Title of the picture");
  add_text(app, "--xlabel", picture.xlabel, "TEXT", "Name of the key axis");
  add_text(app, "--ylabel", picture.ylabel, "TEXT", "Name of the query axis");
  add_text(app, "--titles", picture.titles, "A,B,…", "Titles of a grid's columns, or none");
  add_text(app, "--cmap", picture.cmap, "NAME", "Colour map (default YlOrRd)");
  add_text(app, "--figsize", picture.figsize, "WxH",
           "Size in inches before the margins are trimmed");
  add_text(app, "--dpi", picture.dpi, "N", "Pixels an inch (default 300)");
  add_text(app, "--annotate", picture.annotate, "WHEN", "auto, on or off: each cell's value");
  add_text(app, "--annotate-color", picture.annotate_color, "COLOR",
           "auto, a colour name or #rrggbb");
  add_text(app, "--ticks", picture.ticks, "WHAT", "auto, labels or index");
  app.add_flag("--show-spaces", picture.show_spaces, "Show spaces in labels as \u2423");
  add_text(app, "--color-range", picture.color_range, "RANGE", "shared, panel or LO,HI");
  add_text(app, "--norm", picture.norm, "NORM", "linear, log or power[:GAMMA]: how colours spread");
  add_text(app, "--pool", picture.pool, "WHAT", "mean or max: what a pixel shows of many cells");
  add_text(app, "--font-scale", picture.font_scale, "X", "Factor of all sizes of letters");
}

void add_limits(CLI::App& app, FileArguments& files) {
  add_text(app, "--max-file-size", files.max_file_size, "BYTES",
           "Largest file or standard input, such as 500M (default 64G, standard input 1G)");
  add_text(app, "--max-unpacked-size", files.max_unpacked_size, "BYTES",
           "Largest array in an .npz, unpacked (default 16G)");
  add_text(app, "--max-elements", files.max_elements, "N",
           "Largest tensor of a document (default 4G)");
  add_text(app, "--max-nesting", files.max_nesting, "N",
           "Deepest nesting of arrays and objects (default 512)");
}

void add_files(CLI::App& app, FileArguments& files) {
  add_text(app, "--restrict", files.restrict_to, "DIR",
           "Let documents name only files in this folder, for documents of strangers");
  add_limits(app, files);
}

void add_document(CLI::App& app, DocumentArguments& document,
                  const char* input = "Input document, - for standard input") {
  app.add_option("INPUT", document.inputs, input)->type_name("");
  app.add_option("--attention", document.attention,
                 "Kind of attention, instead of the document's; again for several")
      ->type_name("KIND")
      ->allow_extra_args(false);
  app.add_flag("--causal", document.causal, "Hide the keys after each query");
  add_text(app, "--valid-lens", document.valid_lens, "N,N,…", "Valid keys, one number a sample");
  add_text(app, "--heads", document.heads, "N", "Heads to split tensors without a head axis into");
  add_text(app, "--scale", document.scale, "X", "Factor of the scores");
  add_text(app, "--seed", document.seed, "N", "Seed of random tensors");
  add_text(app, "--dtype", document.dtype, "TYPE", "float32 or float64");
  add_files(app, document.files);
}

void add_provenance(CLI::App& app, bool& target, const std::string& where) {
  app.add_flag("--provenance", target,
               "Write the program's version, the CPU target and hashes of the input into " + where);
}

std::vector<std::string_view> views(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

// The word that is no flag or command of `app`, with the nearest that is.
[[noreturn]] void refuse_unknown(const CLI::App& app, const std::string& word,
                                 const std::string& command) {
  if (!word.starts_with('-') || word == "-") {
    if (!command.empty()) {
      throw Error(ErrorKind::usage, "unexpected argument \"" + word + "\"", command,
                  "see " + command + " --help");
    }
    std::vector<std::string> names;
    for (const CLI::App* sub : app.get_subcommands(nullptr)) names.push_back(sub->get_name());
    throw Error(ErrorKind::usage, "unknown command \"" + word + "\"", "",
                nearest_known(word, views(names)));
  }
  const std::string flag = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options(nullptr)) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  throw Error(ErrorKind::usage, "unknown flag \"" + flag + "\"",
              command.empty() ? "attn-cli" : command, nearest_known(flag, views(names)));
}

// What is made of a document, whether of one or of many.
void add_results(CLI::App& app, RunArguments& arguments) {
  add_text(app, "--out", arguments.out, "DIR", "Folder of the results (default attention_results)");
  add_text(app, "--plots", arguments.plots, "LIST",
           "heatmap, dimensions, grid, mask, stages, lines, all or none (default "
           "heatmap,dimensions)");
  add_text(app, "--format", arguments.format, "FORMAT", "png, svg or pdf");
  add_text(app, "--tensors", arguments.tensors, "FORMAT",
           "json, npy, npz, safetensors or csv: where the numbers go (default json)");
  app.add_flag("--stages", arguments.stages,
               "Write the steps of the score too: scores, capped, masked, lse");
  app.add_flag("--no-weights", arguments.no_weights, "Do not write the weights");
  app.add_flag("--timing", arguments.timing, "Write the seconds taken into result.json");
  add_provenance(app, arguments.provenance, "result.json and the pictures");
  add_picture(app, arguments.picture);
  app.get_option("--pool")->description(
      "Number of bins that queries and keys are reduced to, for long sequences; mean or max: what "
      "a bin and a pixel show; or both, as 1024,max");
}

void add_run(CLI::App& app, RunArguments& arguments) {
  add_document(app, arguments);
  add_results(app, arguments);
  app.add_flag("--show", arguments.show, "Draw the heatmap in the terminal too");
  add_terminal(app, arguments.terminal);
  add_common(app, arguments.common);
}

void add_batch(CLI::App& app, BatchArguments& arguments) {
  add_document(app, arguments,
               "Documents, folders, patterns, .jsonl files; - for a document a line on standard "
               "input");
  add_text(app, "--files-from", arguments.files_from, "LIST",
           "File with an input a line, - for standard input");
  add_text(app, "--jobs", arguments.jobs, "N", "Documents at a time (default: all cores)");
  app.add_flag("--resume", arguments.resume, "Leave alone what an earlier batch finished");
  app.add_flag("--fail-fast", arguments.fail_fast, "Stop at the first document that fails");
  add_text(app, "--shard", arguments.shard, "I/N",
           "Do only part I of N, from 0 (default: as Slurm, MPI or Kubernetes say)");
  add_text(app, "--merge", arguments.merge, "DIR", "Join the summaries of all shards in DIR");
  add_results(app, arguments);
  add_common(app, arguments.common, "Threads for each document (default 1)");
}

void add_plot(CLI::App& app, PlotArguments& arguments) {
  app.add_option(
         "WORDS", arguments.words,
         "KIND (heatmap, dimensions, grid, mask, stages, lines, comparison) and FILE, - for "
         "standard input; for comparison several")
      ->type_name("");
  add_text(app, "--out", arguments.out, "FILE",
           "Picture to write: .png, .svg or .pdf; - for PNG on standard output");
  add_text(app, "--labels", arguments.labels, "FILE",
           "Labels to use instead of the input's: {\"query\": […], \"key\": […]}");
  add_text(app, "--name", arguments.name, "NAME",
           "Tensor to draw (default weights, or the only one)");
  add_provenance(app, arguments.provenance, "the picture");
  add_picture(app, arguments.picture);
  add_files(app, arguments.files);
  add_common(app, arguments.common);
}

void add_compare(CLI::App& app, CompareArguments& arguments) {
  app.add_option("FILES", arguments.files, "Two results or files of tensors, - for standard input")
      ->type_name("");
  add_text(app, "--rtol", arguments.rtol, "X", "Relative tolerance (default 1e-5; 0 for integers)");
  add_text(app, "--atol", arguments.atol, "X", "Absolute tolerance (default 1e-6; 0 for integers)");
  add_text(app, "--plot", arguments.plot, "FILE",
           "Picture of the largest difference to write: .png, .svg or .pdf");
  add_provenance(app, arguments.provenance, "the picture");
  add_limits(app, arguments.limits);
  add_common(app, arguments.common);
}

void add_show(CLI::App& app, ShowArguments& arguments) {
  app.add_option("FILE", arguments.inputs, "Result or file of tensors, - for standard input")
      ->type_name("");
  add_selection(app, arguments.picture);
  app.get_option("--head")->description("Head to draw, from 0, or mean, or max");
  add_text(app, "--name", arguments.name, "NAME",
           "Tensor to show (default weights, or the only one)");
  add_text(app, "--labels", arguments.labels, "FILE",
           "Labels to use instead of the input's: {\"query\": […], \"key\": […]}");
  add_text(app, "--cmap", arguments.picture.cmap, "NAME", "Colour map (default YlOrRd)");
  add_terminal(app, arguments.terminal);
  add_files(app, arguments.files);
  add_common(app, arguments.common);
}

void add_explain(CLI::App& app, ExplainArguments& arguments) {
  add_document(app, arguments);
  add_text(app, "--sample", arguments.sample, "N", "Sample to explain, from 0");
  add_text(app, "--head", arguments.head, "N", "Head to explain, from 0");
  add_text(app, "--query", arguments.query, "N", "Query to explain, from 0");
  add_text(app, "--layer", arguments.layer, "N", "Layer to explain, from 0");
  app.add_flag("--markdown", arguments.markdown, "Print Markdown with tables and formulas");
  add_common(app, arguments.common);
}

void add_validate(CLI::App& app, ValidateArguments& arguments) {
  app.add_option("INPUT", arguments.inputs, "Input documents, - for standard input")->type_name("");
  add_files(app, arguments.files);
  add_common(app, arguments.common);
}

void add_example(CLI::App& app, ExampleArguments& arguments) {
  app.add_option("KIND", arguments.kinds, "Kind of attention")->type_name("");
}

void add_completion(CLI::App& app, CompletionArguments& arguments) {
  app.add_option("SHELL", arguments.shells, "bash, zsh or fish")->type_name("");
}

void add_nothing(CLI::App&, NoArguments&) {}

void add_list(CLI::App& app, ListArguments& arguments) {
  add_common(app, arguments.common);
}

void add_bench(CLI::App& app, BenchArguments& arguments) {
  app.add_option("--shape", arguments.shapes,
                 "Samples, heads, queries, keys, width of a head; again for several "
                 "(default: a list of usual ones)")
      ->type_name("B,H,Lq,Lk,D")
      ->allow_extra_args(false);
  add_text(app, "--attention", arguments.attention, "KIND",
           "Kind of attention (default scaled_dot_product)");
  app.add_flag("--causal", arguments.causal, "Hide the keys after each query");
  add_text(app, "--window", arguments.window, "L,R", "Keys seen around each query; -1 = all");
  app.add_flag("--weights", arguments.weights, "Write the weights out too");
  add_text(app, "--dtype", arguments.dtype, "TYPE", "float32 or float64");
  add_common(app, arguments.common);
}

/// The commands of the program: each keeps its own arguments until it is called.
class Commands {
 public:
  explicit Commands(CLI::App& app) : app_(app) {}

  template <class Arguments>
  void add(const char* name, const char* help, void (*add_options)(CLI::App&, Arguments&),
           int (*action)(const Arguments&)) {
    CLI::App* command = app_.add_subcommand(name, help);
    command->set_help_flag("-h,--help", "Print this help");
    command->allow_extras();
    auto arguments = std::make_shared<Arguments>();
    add_options(*command, *arguments);
    calls_.emplace_back(command, [arguments, action] {
      if constexpr (requires { arguments->common; }) {
        const CommonArguments& common = arguments->common;
        if (common.threads) whole_number("--threads", *common.threads, 1);
        if (common.cpu) use_cpu(*common.cpu);
      }
      return action(*arguments);
    });
  }

  std::function<int()> call(const CLI::App* command) const {
    for (const auto& [known, action] : calls_) {
      if (known == command) return action;
    }
    return {};
  }

 private:
  static void use_cpu(const std::string& name) {
    try {
      use_cpu_target(name);
    } catch (const Error& error) {
      throw Error(error.kind(), error.problem(), "--cpu", error.help());
    }
  }

  CLI::App& app_;
  std::vector<std::pair<const CLI::App*, std::function<int()>>> calls_;
};

Commands add_commands(CLI::App& app) {
  Commands commands(app);
  commands.add("run", "Compute one input document and draw it", add_run, run_command);
  commands.add("batch", "Compute many input documents", add_batch, batch_command);
  commands.add("plot", "Draw numbers that already exist", add_plot, plot_command);
  commands.add("show", "Draw a heatmap in the terminal", add_show, show_command);
  commands.add("explain", "Walk through the computation for one query, step by step", add_explain,
               explain_command);
  commands.add("compare", "Compare results tensor by tensor", add_compare, compare_command);
  commands.add("validate", "Check documents without computing them", add_validate,
               validate_command);
  commands.add("schema", "Print the JSON Schema of input documents", add_nothing, schema_command);
  commands.add("example", "Print a small document of a kind, ready to run", add_example,
               example_command);
  commands.add("bench", "Time attentions on random tensors", add_bench, bench_command);
  commands.add("list", "List kinds, masks, colour maps, file formats and CPU targets", add_list,
               list_command);
  commands.add("completion", "Print what a shell needs to complete commands and flags",
               add_completion, completion_command);
  commands.add("manual", "Print the manual page", add_nothing, manual_command);
  return commands;
}

std::function<int()> printing(std::string text) {
  return [text = std::move(text)] {
    print(text);
    return 0;
  };
}

}  // namespace

std::vector<CommandSummary> command_summaries() {
  CLI::App app;
  add_commands(app);
  std::vector<CommandSummary> summaries;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    CommandSummary summary{command->get_name(), command->get_description(), {}, {}, {}};
    for (const CLI::Option* option : command->get_options(nullptr)) {
      if (option->get_lnames().empty()) {
        summary.words = option->get_name();
        summary.words_help = option->get_description();
      } else {
        summary.flags.push_back({"--" + option->get_lnames()[0],
                                 option->get_expected_max() == 0 ? "" : option->get_type_name(),
                                 option->get_description(), option->get_expected_max() > 1});
      }
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::function<int()> parse_arguments(int count, const char* const* words) {
  CLI::App app("Computes attention exactly and draws it.", "attn-cli");
  app.set_help_flag("-h,--help", "Print this help");
  bool version = false;
  app.add_flag("--version", version, "Print the version");
  app.allow_extras();
  app.require_subcommand(0, 1);

  const Commands commands = add_commands(app);

  try {
    app.parse(count, words);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    return printing(chosen.empty() ? app.help() : chosen[0]->help("attn-cli"));
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorKind::usage, error.what(), "", "see attn-cli --help");
  }
  if (version) return printing(version_text());
  const auto chosen = app.get_subcommands();
  if (!chosen.empty()) {
    const auto extras = chosen[0]->remaining();
    if (!extras.empty()) refuse_unknown(*chosen[0], extras[0], "attn-cli " + chosen[0]->get_name());
  }
  const auto extras = app.remaining();
  if (!extras.empty()) refuse_unknown(app, extras[0], "");
  if (chosen.empty()) {
    throw Error(ErrorKind::usage, "no command given", "",
                "try attn-cli run INPUT, or see attn-cli --help");
  }
  return commands.call(chosen[0]);
}

}  // namespace attn::cli
