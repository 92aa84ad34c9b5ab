#include "cli/run_flags.hpp"

#include <algorithm>
#include <array>

#include "attn/error.hpp"

#include "cli/document_flags.hpp"
#include "cli/flag_values.hpp"

namespace attn::cli {
namespace {

// Several kinds of attention are compared whenever anything is drawn.
constexpr std::array<std::string_view, 8> plot_names{"heatmap", "dimensions", "grid", "mask",
                                                     "stages",  "lines",      "all",  "none"};
constexpr std::size_t all = 6, none = 7;

std::vector<PlotKind> plots(const std::string& text) {
  std::vector<PlotKind> kinds;
  const auto add = [&](std::size_t kind) {
    const auto added = static_cast<PlotKind>(kind);
    if (std::find(kinds.begin(), kinds.end(), added) == kinds.end()) kinds.push_back(added);
  };
  const std::vector<std::string> names = comma_separated(text);
  for (const std::string& name : names) {
    const std::size_t chosen = choice("--plots", name, plot_names);
    if (chosen < all) {
      add(chosen);
    } else if (chosen == all) {
      for (std::size_t kind = 0; kind < all; ++kind) add(kind);
    } else if (chosen == none && names.size() > 1) {
      throw Error(ErrorKind::usage, "--plots takes none only alone", "--plots",
                  "leave out either none or the others");
    }
  }
  return kinds;
}

}  // namespace

RunOptions run_options(const RunArguments& arguments) {
  RunOptions options;
  static_cast<DocumentOptions&>(options) = document_overrides(arguments, arguments.common);
  if (arguments.out) options.out = *arguments.out;
  options.stages = arguments.stages;
  options.weights = !arguments.no_weights;
  options.timing = arguments.timing;
  options.plot = picture_options(arguments.picture, options.sample);
  options.selection = map_selection(arguments.picture, options.head);
  if (arguments.plots) options.plots = plots(*arguments.plots);
  if (arguments.format) {
    constexpr std::array<std::string_view, 3> formats{"png", "svg", "pdf"};
    options.format = static_cast<PictureFormat>(choice("--format", *arguments.format, formats));
  }
  if (arguments.tensors) {
    constexpr std::array<std::string_view, 5> formats{"json", "npy", "npz", "safetensors", "csv"};
    options.tensors = static_cast<TensorFormat>(choice("--tensors", *arguments.tensors, formats));
  }
  return options;
}

}  // namespace attn::cli
