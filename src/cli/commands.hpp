#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags.hpp"

namespace attn::cli {

/// Exit codes beside those of ErrorKind: some of many inputs failed; the user stopped the program,
/// 128 + SIGINT.
inline constexpr int some_failed_code = 1, interrupted_code = 130;

/// The arguments of a command that are no flags.
struct Words {
  std::string name, help;  ///< empty if the command takes none
  std::function<void(const std::vector<std::string>& words)> take = {};
  std::vector<std::string> known = {};  ///< values of the first one, for shells to complete
  bool files = false;                   ///< whether they, or all but the first, are files
};

/// A command, from which parsing, help pages, completions of shells and the manual are made.
struct Command {
  std::string name, help;
  Words words;
  Flags flags;
  std::function<int()> call;  ///< called after words and flags were taken; returns the exit code
};

Command run_command();
Command batch_command();
Command plot_command();
Command show_command();
Command explain_command();
Command heads_command();
Command circuits_command();
Command view_command();
Command compare_command();
Command validate_command();
Command model_command();
Command tokens_command();
Command schema_command();
Command example_command();
Command bench_command();
Command list_command();
Command completion_command();
Command manual_command();

/// All commands, in the order of the program's help, each with --help before its flags.
std::vector<Command> commands();

/// The call that the command line asks for, which returns the exit code. Throws Error(usage) naming
/// the nearest known flag or command.
std::function<int()> parse_arguments(int count, const char* const* words);

/// Whether a word of the command line is "-" or names an existing file.
bool is_file(const std::string& word);

/// Whether a text stands in curly quotes, “ and ”, which shells leave in it, or begins with one.
bool has_curly_quotes(const std::string& text);
/// The text between them; another text as it is.
std::string without_curly_quotes(const std::string& text);

/// Checks the words after the name of a command. Throws Error(usage) for values that are missing,
/// follow a switch, or are several where one is taken, and for flags that are given twice.
void check_values(const std::vector<std::string>& words, const Command& called);

/// Throws Error(usage) for a name of an output that is not what it is meant to be: an empty one, an
/// address, one in "~", or that of a file for a flag that takes a folder.
void check_output(const Command& command, const Flag& flag, const std::string& text);

/// Throws Error(usage) for a word that names no input by itself: a file with a part of it, a list,
/// a compressed file, a text unless `has_model` says that a model is named, or a model without
/// --model where `has_text` says that there is something for it to read.
void check_inputs(const Command& command, const std::vector<std::string>& words, bool has_model,
                  bool has_text);

/// The document of the installed examples that a word means, "cross.json", as a shell names it;
/// empty for other words.
std::string name_in_examples(const std::string& word);

/// Help for a flag that a command does not take, of those with `names`. `command`, "attn-cli run",
/// is empty where none is given before the flag, and `after` the name of the one after it, or of
/// one that may be meant.
std::string advice(const std::string& flag, const std::vector<std::string_view>& names,
                   const std::string& command, const std::vector<Command>& all,
                   const std::string& after);

/// The error of a word that stands for no command, with what it means.
Error unknown_command(const std::string& word, const std::vector<Command>& all);

/// The error of a word after a command that takes none. `takes_text`: whether the command has
/// --text.
Error unexpected_argument(const std::string& word, const std::string& command, bool takes_text);

/// The error of the parser's library in the language that is spoken.
std::string in_words_of_ours(std::string_view text);

/// Help for a flag of other programs; empty for other flags.
std::string advice_of_foreign(const std::string& flag, const std::vector<std::string_view>& names,
                              const std::string& command);

/// Help for a flag of what a model does by itself, where one is given; empty for other flags.
std::string advice_beside_model(const std::string& flag);

/// Page of `attn-cli COMMAND -h`: what it does, examples, and the flags that people use most. No
/// line is wider than `columns`.
std::string short_help(const Command& command, std::size_t columns);

/// Page of `attn-cli COMMAND --help`: all flags in their groups.
std::string full_help(const Command& command, std::size_t columns);

/// Lines that show how a command is called.
std::span<const std::string_view> examples_of(std::string_view command);

/// Names of the dozen flags that a command's users need, with spaces between; empty for a command
/// without a help page.
std::string_view common_flags(std::string_view command);

/// Headings of the groups of flags, in English, in the order of FlagGroup.
std::span<const char* const> group_headings();

/// Page of `attn-cli --help`: all commands.
std::string overview(std::span<const Command> commands, std::size_t columns);

}  // namespace attn::cli
