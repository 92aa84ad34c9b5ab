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

// --pool is what pixels show ("max"), how many bins the weights are reduced to ("1024"), or both.
std::optional<Pooling> take_pooling(std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::optional<Pooling> pooling;
  std::optional<std::string> word;
  for (const std::string& part : comma_separated(*text)) {
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    if (number ? pooling.has_value() : word.has_value()) {
      throw Error(ErrorKind::usage, "\"" + *text + "\" is not what --pool takes", "--pool",
                  "give a number of bins, mean or max, or both, such as 1024,max");
    }
    if (number) {
      pooling.emplace().size = whole_number("--pool", part, 1);
    } else {
      constexpr std::array<std::string_view, 2> words{"mean", "max"};
      choice("--pool", part, words);
      word = part;
    }
  }
  if (pooling && word == "max") pooling->reduction = Pooling::Reduction::max;
  text = word;
  return pooling;
}

}  // namespace

RunOptions run_options(const RunArguments& arguments) {
  RunOptions options;
  static_cast<DocumentOptions&>(options) = document_overrides(arguments, arguments.common);
  PictureArguments picture = arguments.picture;
  options.pool = take_pooling(picture.pool);
  if (arguments.out) options.out = *arguments.out;
  options.stages = arguments.stages;
  options.weights = !arguments.no_weights;
  options.timing = arguments.timing;
  options.plot = picture_options(picture, options.sample);
  options.plot.threads = options.threads;
  options.selection = map_selection(picture, options.head);
  if (arguments.plots) options.plots = plots(*arguments.plots);
  options.plots_asked_for = arguments.plots.has_value();
  options.heatmaps = arguments.show;
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
