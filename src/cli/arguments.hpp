#pragma once

#include <optional>
#include <string>
#include <vector>

namespace attn::cli {

/// A flag as given; what its text means is the command's to say.
using Text = std::optional<std::string>;

/// Flags that every command takes.
struct CommonArguments {
  bool json = false, quiet = false, no_color = false;
  Text threads;
};

/// Flags that shape a picture.
struct PictureArguments {
  Text style, title, xlabel, ylabel, titles, cmap, figsize, dpi, annotate, annotate_color, ticks,
      color_range;
  Text sample, head;
};

/// Flags that tell what the terminal shows.
struct TerminalArguments {
  Text color, width;
};

struct RunArguments {
  CommonArguments common;
  TerminalArguments terminal;
  PictureArguments picture;
  std::vector<std::string> inputs;
  std::vector<std::string> attention;
  Text out, dtype, heads, scale, seed, valid_lens, plots, format, tensors;
  bool causal = false, stages = false, no_weights = false, timing = false, show = false;
};

struct PlotArguments {
  CommonArguments common;
  PictureArguments picture;
  std::vector<std::string> words;  ///< KIND FILE
  Text out, labels;
};

struct CompareArguments {
  CommonArguments common;
  std::vector<std::string> files;  ///< A B
  Text rtol, atol, plot;
};

struct ShowArguments {
  CommonArguments common;
  TerminalArguments terminal;
  std::vector<std::string> files;  ///< FILE
  Text labels, sample, head, cmap;
};

/// The command line, split into one command's arguments.
struct Arguments {
  enum class Command { none, run, plot, compare, show } command = Command::none;
  RunArguments run;
  PlotArguments plot;
  CompareArguments compare;
  ShowArguments show;
  /// Text to print instead of running a command (--help, --version).
  Text print;
};

/// Throws Error(usage) naming the nearest known flag or command.
Arguments parse_arguments(int count, const char* const* words);

}  // namespace attn::cli
