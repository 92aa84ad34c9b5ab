#include <memory>

#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/pictures.hpp"

#include "cli/commands.hpp"
#include "cli/common_flags.hpp"
#include "cli/output.hpp"
#include "cli/picture_flags.hpp"

namespace attn::cli {
namespace {

struct GivenToShow {
  Common common;
  PlotRequest request;
  TerminalChoice terminal;
};

void take_words(const std::vector<std::string>& words, GivenToShow& given) {
  const auto usage = [](const std::string& problem) {
    return Error(ErrorKind::usage, problem, "attn-cli show",
                 translated("write {1}", "attn-cli show FILE"));
  };
  if (words.empty()) throw usage(translated("no file to show given"));
  given.request.input = words[0];
  given.request.maps.others.assign(words.begin() + 1, words.end());
}

int draw(const GivenToShow& given) {
  const PlotRequest& request = given.request;
  if (request.maps.selection.heads == MapSelection::Heads::all) {
    throw Error(
        ErrorKind::usage, translated("a terminal shows one map, not all heads"), "--head",
        translated("give a head from 0, mean or max; attn-cli plot draws all side by side"));
  }
  TerminalOptions options = terminal_options(given.terminal, given.common);
  options.cmap = request.options.colors.cmap;
  std::vector<std::string> warnings;
  const Heatmap heatmap = read_heatmap(request, &warnings);
  if (given.common.quiet) return 0;
  warn(warnings);
  print(given.common.json ? heatmap_json(heatmap) : draw_in_terminal(heatmap, options));
  return 0;
}

}  // namespace

Command show_command() {
  const auto given = std::make_shared<GivenToShow>();
  PlotRequest& request = given->request;
  Command command{
      "show",
      translated("Draw a heatmap in the terminal"),
      {"FILE",
       translated("Result or file of tensors, - for standard input; or one file per layer"),
       [given = given.get()](const std::vector<std::string>& words) { take_words(words, *given); },
       {},
       true},
      {},
      [given] { return draw(*given); }};
  Flags& flags = command.flags;
  add_selection(flags, {request.options, request.maps.selection, request.sample, request.head},
                false);
  add_map_source(flags, request.maps, request.head);
  add_colour_map(flags, request.options.colors.cmap);
  add_terminal(flags, given->terminal);
  add_files(flags, request.files);
  add_common(flags, given->common);
  return command;
}

}  // namespace attn::cli
