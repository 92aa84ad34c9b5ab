#include "cli/arguments.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "attn/attn.hpp"

namespace attn::cli {
namespace {

void add_text(CLI::App& app, const std::string& flag, Text& target, const std::string& value,
              const std::string& help) {
  app.add_option(flag, target, help)->type_name(value);
}

void add_common(CLI::App& app, CommonArguments& common) {
  app.add_flag("--json", common.json, "Print the report as JSON");
  app.add_flag("--quiet", common.quiet, "Print nothing but errors");
  app.add_flag("--no-color", common.no_color, "Print without colours");
  add_text(app, "--threads", common.threads, "N", "Threads to compute with (default: all cores)");
}

void add_picture(CLI::App& app, PictureArguments& picture) {
  add_text(app, "--sample", picture.sample, "N", "Sample to draw, from 0");
  add_text(app, "--head", picture.head, "N", "Head to draw, from 0");
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
  add_text(app, "--color-range", picture.color_range, "RANGE", "shared, panel or LO,HI");
}

void add_document(CLI::App& app, DocumentArguments& document) {
  app.add_option("INPUT", document.inputs, "Input document, - for standard input")->type_name("");
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

}  // namespace

Arguments parse_arguments(int count, const char* const* words) {
  Arguments arguments;
  CLI::App app("Computes attention exactly and draws it.", "attn-cli");
  app.set_help_flag("-h,--help", "Print this help");
  bool version = false;
  app.add_flag("--version", version, "Print the version");
  app.allow_extras();
  app.require_subcommand(0, 1);

  CLI::App& run = *app.add_subcommand("run", "Compute one input document and draw it");
  RunArguments& r = arguments.run;
  add_document(run, r);
  add_text(run, "--out", r.out, "DIR", "Folder of the results (default attention_results)");
  add_text(run, "--plots", r.plots, "LIST",
           "heatmap, dimensions, grid, all or none (default heatmap,dimensions)");
  add_text(run, "--format", r.format, "FORMAT", "png, svg or pdf");
  add_text(run, "--tensors", r.tensors, "FORMAT",
           "json, npy, npz, safetensors or csv: where the numbers go (default json)");
  run.add_flag("--stages", r.stages,
               "Write the steps of the score too: scores, capped, masked, lse");
  run.add_flag("--no-weights", r.no_weights, "Do not write the weights");
  run.add_flag("--timing", r.timing, "Write the seconds taken into result.json");
  add_picture(run, r.picture);
  add_common(run, r.common);

  CLI::App& plot = *app.add_subcommand("plot", "Draw numbers that already exist");
  PlotArguments& p = arguments.plot;
  plot.add_option("WORDS", p.words,
                  "KIND (heatmap, dimensions, grid) and FILE, - for standard input")
      ->type_name("");
  add_text(plot, "--out", p.out, "FILE",
           "Picture to write: .png, .svg or .pdf; - for PNG on standard output");
  add_text(plot, "--labels", p.labels, "FILE",
           "Labels to use instead of the input's: {\"query\": […], \"key\": […]}");
  add_picture(plot, p.picture);
  add_common(plot, p.common);

  CLI::App& compare = *app.add_subcommand("compare", "Compare results tensor by tensor");
  CompareArguments& c = arguments.compare;
  compare.add_option("FILES", c.files, "Two results or files of tensors, - for standard input")
      ->type_name("");
  add_text(compare, "--rtol", c.rtol, "X", "Relative tolerance (default 1e-5; 0 for integers)");
  add_text(compare, "--atol", c.atol, "X", "Absolute tolerance (default 1e-6; 0 for integers)");
  add_text(compare, "--plot", c.plot, "FILE",
           "Picture of the largest difference to write: .png, .svg or .pdf");
  add_common(compare, c.common);

  CLI::App& explain =
      *app.add_subcommand("explain", "Walk through the computation for one query, step by step");
  ExplainArguments& e = arguments.explain;
  add_document(explain, e);
  add_text(explain, "--sample", e.sample, "N", "Sample to explain, from 0");
  add_text(explain, "--head", e.head, "N", "Head to explain, from 0");
  add_text(explain, "--query", e.query, "N", "Query to explain, from 0");
  add_text(explain, "--layer", e.layer, "N", "Layer to explain, from 0");
  explain.add_flag("--markdown", e.markdown, "Print Markdown with tables and formulas");
  add_common(explain, e.common);

  for (CLI::App* sub : {&run, &plot, &compare, &explain}) {
    sub->set_help_flag("-h,--help", "Print this help");
    sub->allow_extras();
  }

  try {
    app.parse(count, words);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    arguments.print = chosen.empty() ? app.help() : chosen[0]->help("attn-cli");
    return arguments;
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorKind::usage, error.what(), "", "see attn-cli --help");
  }
  if (version) {
    arguments.print = "attn-cli " ATTN_VERSION "\n";
    return arguments;
  }
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
  for (const auto& [sub, command] :
       {std::pair(&run, Arguments::Command::run), std::pair(&plot, Arguments::Command::plot),
        std::pair(&compare, Arguments::Command::compare),
        std::pair(&explain, Arguments::Command::explain)}) {
    if (chosen[0] == sub) arguments.command = command;
  }
  return arguments;
}

}  // namespace attn::cli
