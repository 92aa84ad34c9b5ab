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

/// An input document and the flags that go before what it says.
struct DocumentArguments {
  std::vector<std::string> inputs;
  std::vector<std::string> attention;
  Text dtype, heads, scale, seed, valid_lens;
  bool causal = false;
};

struct RunArguments : DocumentArguments {
  CommonArguments common;
  PictureArguments picture;
  Text out, plots, format, tensors;
  bool stages = false, no_weights = false, timing = false;
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

struct ExplainArguments : DocumentArguments {
  CommonArguments common;
  Text sample, head, query, layer;
  bool markdown = false;
};

/// The command line, split into one command's arguments.
struct Arguments {
  enum class Command { none, run, plot, compare, explain } command = Command::none;
  RunArguments run;
  PlotArguments plot;
  CompareArguments compare;
  ExplainArguments explain;
  /// Text to print instead of running a command (--help, --version).
  Text print;
};

/// Throws Error(usage) naming the nearest known flag or command.
Arguments parse_arguments(int count, const char* const* words);

}  // namespace attn::cli
