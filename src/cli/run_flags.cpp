#include "cli/run_flags.hpp"

#include <algorithm>

#include "attn/language.hpp"

#include "cli/common_flags.hpp"
#include "cli/document_flags.hpp"
#include "cli/picture_flags.hpp"

namespace attn::cli {
namespace {

// The page with all maps, which is no picture and drawn when it is named only.
constexpr std::string_view page_name = "view";

// What --plots takes: the kinds of pictures that are drawn of a run when asked for; all of them;
// none.
std::vector<std::string_view> plot_names(bool page) {
  std::vector<std::string_view> names;
  for (const PlotKindInfo& kind : plot_kinds()) {
    if (kind.of_runs) names.push_back(kind.name);
  }
  if (page) names.push_back(page_name);
  names.insert(names.end(), {"all", "none"});
  return names;
}

std::vector<PlotKind> plots(const std::string& text, bool* page) {
  const std::vector<std::string_view> known = plot_names(page != nullptr);
  if (page != nullptr) *page = false;
  const std::vector<std::string> names = comma_separated(text);
  for (const std::string& name : names) {
    choice("--plots", name, known);
    if (name == "none" && names.size() > 1) {
      throw Error(ErrorKind::usage, translated("--plots takes none only alone"), "--plots",
                  translated("leave out either none or the others"));
    }
  }
  std::vector<PlotKind> kinds;
  for (const std::string& name : names) {
    if (page != nullptr && name == page_name) *page = true;
    for (const PlotKindInfo& kind : plot_kinds()) {
      const bool asked = name == kind.name || (name == "all" && kind.of_runs);
      if (asked && std::find(kinds.begin(), kinds.end(), kind.kind) == kinds.end()) {
        kinds.push_back(kind.kind);
      }
    }
  }
  return kinds;
}

void add_plots(Flags& flags, RunOptions& options, bool* page) {
  std::string usual;
  for (const PlotKindInfo& kind : plot_kinds()) {
    if (std::find(options.plots.begin(), options.plots.end(), kind.kind) == options.plots.end())
      continue;
    usual += (usual.empty() ? "" : ",") + std::string(kind.name);
  }
  const std::vector<std::string_view> known = plot_names(page != nullptr);
  Flag& flag =
      flags.add("--plots", "LIST", translated("{1} (default {2})", alternatives(known), usual),
                [&options, page](const std::string& text) {
                  options.plots = plots(text, page);
                  options.most_weights_for_heatmap = RunOptions().most_weights_for_heatmap;
                });
  flag.words.assign(known.begin(), known.end());
  flag.list = true;
}

}  // namespace

bool answers(const RunOptions& options, bool json, const std::string& command) {
  if (options.out != "-") return false;
  const auto refuse = [&](const std::string& what, const std::string& flag) {
    throw Error(ErrorKind::usage,
                translated("{1} cannot go to standard output beside the result", what), flag,
                translated("leave out {1}, or give {2} a folder with --out", flag, command));
  };
  if (json) refuse(translated("the report"), "--json");
  if (options.tensors != TensorFormat::json) refuse(translated("files of tensors"), "--tensors");
  if (!options.plots.empty() && options.plots != RunOptions().plots)
    refuse(translated("pictures"), "--plots");
  return true;
}

void add_results(Flags& flags, RunOptions& options, bool* page) {
  // Weights that nothing but a heatmap needs are computed up to here unless pictures are asked for.
  options.most_weights_for_heatmap = std::size_t{1} << 28U;
  add_model_results(flags, options);
  flags.text(
      "--out", options.out, "DIR",
      translated("Folder of the results (default attention_results), - for standard output"));
  flags.add("--only", "NAME,…",
            translated("Tensors to write: output, weights…; a last part of a name too"),
            [&](const std::string& text) { options.only = comma_separated(text); });
  add_plots(flags, options, page);
  flags.choice("--format", options.format, picture_formats(), "FORMAT");
  flags.choice("--tensors", options.tensors, tensor_formats(), "FORMAT",
               translated(": where the numbers go (default json)"));
  flags.toggle("--stages", options.stages,
               translated("Write the steps of the score too: scores, capped, masked, lse"));
  flags.add("--no-weights", "", translated("Do not write the weights"),
            [&](const std::string&) { options.weights = false; });
  flags.toggle("--timing", options.timing, translated("Write the seconds taken into result.json"));
  add_provenance(flags, options.provenance, translated("result.json and the pictures"));
  add_pooling(flags, options.pool, options.plot.colors.pixels);
  add_picture(flags, {options.plot, options.selection, options.sample, options.head});
}

}  // namespace attn::cli
