#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>

#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/pictures.hpp"

#include "cli/commands.hpp"
#include "cli/common_flags.hpp"
#include "cli/map_flags.hpp"
#include "cli/output.hpp"
#include "cli/picture_flags.hpp"

namespace attn::cli {
namespace {

struct GivenToShow {
  Common common;
  PlotRequest request;
  TerminalChoice terminal;
  ShownAs as = ShownAs::automatic;
};

void take_words(const std::vector<std::string>& words, GivenToShow& given) {
  const auto usage = [](const std::string& problem) {
    return Error(ErrorKind::usage, problem, "attn-cli show",
                 translated("write {1}", "attn-cli show FILE"));
  };
  if (words.empty()) throw usage(translated("no file to show given"));
  refuse_model_folder(words[0], "attn-cli show");
  given.request.input = words[0];
  given.request.maps.others.assign(words.begin() + 1, words.end());
}

// The protocol of pictures that is wanted, or that a terminal of colours knows where nothing is
// said; none for blocks.
std::optional<TerminalPictures> pictures(const GivenToShow& given, TerminalColors colors) {
  switch (given.as) {
    case ShownAs::blocks:
      return std::nullopt;
    case ShownAs::sixel:
      return TerminalPictures::sixel;
    case ShownAs::kitty:
      return TerminalPictures::kitty;
    case ShownAs::automatic:
      break;
  }
  const bool plain = given.common.json || colors == TerminalColors::none;
  return plain ? std::nullopt : asked_terminal();
}

// The heatmap as a picture of the terminal's width.
std::string drawn(PlotRequest request, TerminalPictures protocol, std::size_t columns,
                  std::vector<std::string>& warnings) {
  constexpr double dpi = 100, aspect = 0.75, widest = 1200;  // pixels
  const double width = std::min(widest, terminal_pixels(columns)) / dpi;
  request.options.figure.dpi = dpi;
  request.options.figure.figsize = {width, aspect * width};
  const Picture picture = attn::draw(request);
  warnings = picture.warnings;
  return picture_in_terminal(picture, protocol);
}

int draw(const GivenToShow& given) {
  const PlotRequest& request = given.request;
  const MapSelection& selection = request.maps.selection;
  for (const auto& [shown, chosen, flag] :
       {std::tuple(selection.heads, selection.chosen_heads, "--head"),
        std::tuple(selection.samples, selection.chosen_samples, "--sample")}) {
    if (shown != MapSelection::Shown::all) continue;
    const bool from_end = chosen && chosen->size() == 1 && chosen->front().first.value_or(0) < 0;
    if (from_end) throw below_zero(flag, *chosen->front().first);
    throw Error(
        ErrorKind::usage, translated("a terminal shows one map, not several"), flag,
        translated("give one from 0, mean or max; attn-cli plot draws several side by side"));
  }
  TerminalOptions options = terminal_options(given.terminal, given.common);
  options.cmap = request.options.colors.cmap;
  std::vector<std::string> warnings;
  if (const auto protocol = pictures(given, options.colors); protocol && !given.common.json) {
    const std::string picture = drawn(request, *protocol, options.columns, warnings);
    if (!given.common.quiet) warn(warnings);
    print(picture);
    return 0;
  }
  const Heatmap heatmap = read_heatmap(request, &warnings);
  if (!given.common.quiet) warn(warnings);
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
  add_selection(flags, {request.maps.selection, request.sample, request.head}, false);
  add_hide_mask(flags, request.maps.selection);
  add_map_source(flags, request.maps);
  add_colour_map(flags, request.options.colors.cmap);
  add_terminal(flags, given->terminal);
  flags.choice("--as", given->as, shown_as(), "WAY",
               translated(": by default pictures where the terminal answers that it knows them"));
  add_files(flags, request.files);
  add_common(flags, given->common);
  return command;
}

}  // namespace attn::cli
