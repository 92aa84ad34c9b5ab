#pragma once

#include <functional>
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
      color_range, norm, pool, font_scale;
  Text sample, head, queries, keys, drop_first, top, threshold;
  bool show_spaces = false, renormalize = false, merge_pieces = false, hide_mask = false;
};

/// Flags that tell what the terminal shows.
struct TerminalArguments {
  Text color, width;
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
  TerminalArguments terminal;
  PictureArguments picture;
  Text out, plots, format, tensors;
  bool stages = false, no_weights = false, timing = false, show = false;
};

struct PlotArguments {
  CommonArguments common;
  PictureArguments picture;
  std::vector<std::string> words;  ///< KIND FILE…
  Text out, labels, name;
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

struct ShowArguments {
  CommonArguments common;
  TerminalArguments terminal;
  PictureArguments picture;        ///< what is chosen, and the colours
  std::vector<std::string> files;  ///< FILE
  Text labels, name;
};

struct ValidateArguments {
  CommonArguments common;
  std::vector<std::string> inputs;
};

struct ExampleArguments {
  std::vector<std::string> kinds;
};

/// Of a command that takes none.
struct NoArguments {};

struct ListArguments {
  CommonArguments common;
};

/// What the command line asks for, ready to be called: it gives the exit code. Throws Error(usage)
/// naming the nearest known flag or command.
std::function<int()> parse_arguments(int count, const char* const* words);

}  // namespace attn::cli
