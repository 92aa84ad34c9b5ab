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
  if (arguments.files.empty()) throw usage("no file to show given");
  if (arguments.files.size() > 1) throw usage("more than one file to show given");
  PlotRequest request;
  request.input = arguments.files[0];
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
  print(draw_in_terminal(read_heatmap(request), options));
  return 0;
}

}  // namespace attn::cli
