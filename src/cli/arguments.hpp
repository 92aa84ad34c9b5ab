#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attn::cli {

/// A flag as given; what its text means is the command's to say.
using Text = std::optional<std::string>;

/// Flags of every command that computes or reports.
struct CommonArguments {
  bool json = false, quiet = false, no_color = false;
  Text threads, cpu;
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

/// Flags that say how much files may hold and where they may be.
struct FileArguments {
  Text max_file_size, max_unpacked_size, max_elements, max_nesting, restrict_to;
};

/// An input document and the flags that go before what it says.
struct DocumentArguments {
  std::vector<std::string> inputs;
  std::vector<std::string> attention;
  Text dtype, heads, scale, seed, valid_lens;
  bool causal = false;
  FileArguments files;
};

struct RunArguments : DocumentArguments {
  CommonArguments common;
  TerminalArguments terminal;
  PictureArguments picture;
  Text out, plots, format, tensors;
  bool stages = false, no_weights = false, timing = false, provenance = false, show = false;
};

struct BatchArguments : RunArguments {
  Text files_from, jobs, shard, merge;
  bool resume = false, fail_fast = false;
};

struct PlotArguments {
  CommonArguments common;
  PictureArguments picture;
  FileArguments files;
  std::vector<std::string> words;  ///< KIND FILE…
  Text out, labels, name;
  bool provenance = false;
};

struct CompareArguments {
  CommonArguments common;
  FileArguments limits;
  std::vector<std::string> files;  ///< A B
  Text rtol, atol, plot;
  bool provenance = false;
};

struct ExplainArguments : DocumentArguments {
  CommonArguments common;
  Text sample, head, query, layer;
  bool markdown = false;
};

struct ShowArguments {
  CommonArguments common;
  TerminalArguments terminal;
  FileArguments files;
  PictureArguments picture;         ///< what is chosen, and the colours
  std::vector<std::string> inputs;  ///< FILE
  Text labels, name;
};

struct ValidateArguments {
  CommonArguments common;
  FileArguments files;
  std::vector<std::string> inputs;
};

struct ExampleArguments {
  std::vector<std::string> kinds;
};

struct CompletionArguments {
  std::vector<std::string> shells;
};

struct BenchArguments {
  CommonArguments common;
  std::vector<std::string> shapes;  ///< B,H,Lq,Lk,D each
  Text attention, window, dtype;
  bool causal = false, weights = false;
};

/// Of a command that takes none.
struct NoArguments {};

struct ListArguments {
  CommonArguments common;
};

/// A flag, as help pages tell of it.
struct FlagSummary {
  std::string name;   ///< "--out"
  std::string value;  ///< "DIR"; empty for a switch
  std::string help;
  bool repeats = false;  ///< whether it may be given more than once
};

/// A command, as help pages tell of it.
struct CommandSummary {
  std::string name, help;
  std::string words, words_help;  ///< what stands after it without a flag; empty if nothing does
  std::vector<FlagSummary> flags;
};

/// All commands, in the order of the program's own help.
std::vector<CommandSummary> command_summaries();

/// What the command line asks for, ready to be called: it gives the exit code. Throws Error(usage)
/// naming the nearest known flag or command.
std::function<int()> parse_arguments(int count, const char* const* words);

}  // namespace attn::cli
