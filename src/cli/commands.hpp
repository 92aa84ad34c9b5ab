#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/flags.hpp"

namespace attn::cli {

/// What stands after a command without a flag.
struct Words {
  std::string name, help;  ///< empty if nothing does
  std::function<void(const std::vector<std::string>& words)> take = {};
  std::vector<std::string> known = {};  ///< what the first of them can be, for shells to complete
  bool files = false;                   ///< whether they, or those behind the first, are files
};

/// A command: all that parsing, help pages, completions of shells and the manual know of it.
struct Command {
  std::string name, help;
  Words words;
  Flags flags;
  std::function<int()> call;  ///< to be called when words and flags are taken; gives the exit code
};

Command run_command();
Command batch_command();
Command plot_command();
Command show_command();
Command explain_command();
Command heads_command();
Command view_command();
Command compare_command();
Command validate_command();
Command model_command();
Command schema_command();
Command example_command();
Command bench_command();
Command list_command();
Command completion_command();
Command manual_command();

/// All of them, in the order of the program's own help, each with --help before its flags.
std::vector<Command> commands();

/// What the command line asks for, ready to be called: it gives the exit code. Throws Error(usage)
/// naming the nearest known flag or command.
std::function<int()> parse_arguments(int count, const char* const* words);

}  // namespace attn::cli
