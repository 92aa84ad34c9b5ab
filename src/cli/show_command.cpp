#include "cli/show_command.hpp"

#include "attn/error.hpp"
#include "attn/run.hpp"

#include "cli/flag_values.hpp"
#include "cli/output.hpp"
#include "cli/terminal.hpp"

namespace attn::cli {

int show_command(const ShowArguments& arguments) {
  const auto usage = [](const std::string& problem) {
    return Error(ErrorKind::usage, problem, "attn-cli show", "write attn-cli show FILE");
  };
  if (arguments.inputs.empty()) throw usage("no file to show given");
  if (arguments.inputs.size() > 1) throw usage("more than one file to show given");
  PlotRequest request;
  request.input = arguments.inputs[0];
  request.files = file_access(arguments.files);
  if (arguments.labels) request.labels = *arguments.labels;
  request.name = arguments.name;
  request.options = picture_options(arguments.picture, request.sample);
  request.selection = map_selection(arguments.picture, request.head);
  if (request.selection.heads == MapSelection::Heads::all) {
    throw Error(ErrorKind::usage, "a terminal shows one map, not all heads", "--head",
                "give a head from 0, mean or max; attn-cli plot draws all side by side");
  }
  TerminalOptions options = terminal_options(arguments.terminal, arguments.common);
  options.cmap = request.options.cmap;
  const Heatmap heatmap = read_heatmap(request);
  if (arguments.common.quiet) return 0;
  print(arguments.common.json ? heatmap_json(heatmap) : draw_in_terminal(heatmap, options));
  return 0;
}

}  // namespace attn::cli
