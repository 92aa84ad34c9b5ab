#include "cli/completion_command.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attn/attn.hpp"

#include "cli/output.hpp"

namespace attn::cli {
namespace {

using Words = std::vector<std::string>;

Words kind_names() {
  Words names;
  for (const KindInfo& kind : kinds()) names.emplace_back(kind.name);
  return names;
}

Words map_names() {
  Words names;
  for (const std::string_view map : colour_maps()) names.emplace_back(map);
  return names;
}

const Words plot_kinds{"heatmap", "dimensions", "grid", "mask", "stages", "lines", "comparison"};

/// What completes the value of a flag.
struct Completion {
  enum class Names { none, files, folders } names = Names::none;
  Words words;
  bool list = false;  ///< the words may follow one another with commas between them
};

Completion completion(const FlagSummary& flag) {
  using Names = Completion::Names;
  static const std::map<std::string, Words> words{
      {"--format", {"png", "svg", "pdf"}},
      {"--tensors", {"json", "npy", "npz", "safetensors", "csv"}},
      {"--dtype", {"float32", "float64"}},
      {"--cpu", {"amx", "avx512", "avx2", "sse4", "scalar"}},
      {"--head", {"mean", "max", "all"}},
      {"--pool", {"mean", "max"}},
      {"--style", {"standard", "matplotlib"}},
      {"--annotate", {"auto", "on", "off"}},
      {"--ticks", {"auto", "labels", "index"}},
      {"--color", {"auto", "always", "never"}},
      {"--color-range", {"shared", "panel"}},
      {"--norm", {"linear", "log", "power"}},
  };
  if (flag.name == "--attention") return {Names::none, kind_names()};
  if (flag.name == "--cmap") return {Names::none, map_names()};
  if (flag.name == "--plots") {
    return {Names::none,
            {"heatmap", "dimensions", "grid", "mask", "stages", "lines", "all", "none"},
            true};
  }
  if (const auto known = words.find(flag.name); known != words.end()) {
    return {Names::none, known->second};
  }
  if (flag.value == "DIR") return {Names::folders, {}};
  if (flag.value == "FILE" || flag.value == "LIST") return {Names::files, {}};
  return {};
}

/// What can stand after a command without a flag. For a kind of picture, files follow it.
Words words_after(const std::string& command) {
  if (command == "example") return kind_names();
  if (command == "plot") return plot_kinds;
  if (command == "completion") return {"bash", "zsh", "fish"};
  return {};
}

bool takes_files(const CommandSummary& command) {
  return command.name == "plot" || (!command.words.empty() && words_after(command.name).empty());
}

std::string joined(const Words& words, const std::string& separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

/// Flags of any command that take a value, each once.
std::vector<FlagSummary> flags_with_value(const std::vector<CommandSummary>& commands) {
  std::vector<FlagSummary> found;
  for (const CommandSummary& command : commands) {
    for (const FlagSummary& flag : command.flags) {
      const bool known = std::any_of(found.begin(), found.end(), [&](const FlagSummary& other) {
        return other.name == flag.name;
      });
      if (!flag.value.empty() && !known) found.push_back(flag);
    }
  }
  return found;
}

std::string bash_script(const std::vector<CommandSummary>& commands) {
  Words names;
  for (const CommandSummary& command : commands) names.push_back(command.name);
  std::string script =
      "# bash completion of attn-cli; where no word fits, bash completes file names\n"
      "_attn_cli() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local flags= words= files= first= other\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"" +
      joined(names, " ") +
      " --help --version\" -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  # bash takes --flag=value for three words.\n"
      "  if [ \"$word\" = = ]; then\n"
      "    word=\n"
      "  elif [ \"$before\" = = ]; then\n"
      "    before=${COMP_WORDS[COMP_CWORD-2]}\n"
      "  fi\n"
      "  case $before in\n";
  Words free, files;
  for (const FlagSummary& flag : flags_with_value(commands)) {
    const Completion values = completion(flag);
    const std::string reply = "$(compgen -W \"" + joined(values.words, " ") + "\" -- \"$word\")";
    if (values.list) {
      script += "    " + flag.name +
                ") [[ $word == *,* ]] && first=${word%,*},\n"
                "      COMPREPLY=($(compgen -P \"$first\" -W \"" +
                joined(values.words, " ") + "\" -- \"${word##*,}\")); return ;;\n";
    } else if (!values.words.empty()) {
      script += "    " + flag.name + ") COMPREPLY=(" + reply + "); return ;;\n";
    } else {
      (values.names == Completion::Names::none ? free : files).push_back(flag.name);
    }
  }
  script += "    " + joined(files, "|") + ") return ;;\n    " + joined(free, "|") +
            ") compopt +o default 2>/dev/null; return ;;\n  esac\n  case ${COMP_WORDS[1]} in\n";
  for (const CommandSummary& command : commands) {
    Words flags;
    for (const FlagSummary& flag : command.flags) flags.push_back(flag.name);
    script += "    " + command.name + ") flags=\"" + joined(flags, " ") + "\" words=\"" +
              joined(words_after(command.name), " ") + "\"" +
              (takes_files(command) ? " files=1" : "") + " ;;\n";
  }
  return script +
         "  esac\n"
         "  case $word in\n"
         "    -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$word\")); return ;;\n"
         "  esac\n"
         "  for other in \"${COMP_WORDS[@]:2:COMP_CWORD-2}\"; do\n"
         "    [[ \" $words \" == *\" $other \"* ]] && words=\n"
         "  done\n"
         "  [ -n \"$files\" ] || compopt +o default 2>/dev/null\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -o default -F _attn_cli attn-cli\n";
}

/// Text within single quotes of zsh or fish; brackets and colons mean something to zsh.
std::string quoted(const std::string& text, bool zsh) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\'') {
      result += "'\\''";
    } else {
      if (zsh && (letter == '[' || letter == ']' || letter == ':')) result += '\\';
      result += letter;
    }
  }
  return result;
}

std::string zsh_action(const Completion& values) {
  if (values.list) return "_values -s , value " + joined(values.words, " ");
  if (!values.words.empty()) return "(" + joined(values.words, " ") + ")";
  if (values.names == Completion::Names::folders) return "_files -/";
  return values.names == Completion::Names::files ? "_files" : " ";
}

std::string zsh_flag(const FlagSummary& flag) {
  const std::string help = "[" + quoted(flag.help, true) + "]";
  if (flag.name == "--help") return "'(- *)'{-h,--help}'" + help + "'";
  if (flag.value.empty()) return "'" + flag.name + help + "'";
  return std::string("'") + (flag.repeats ? "*" : "") + flag.name + "=" + help + ":" +
         quoted(flag.value, true) + ":" + zsh_action(completion(flag)) + "'";
}

std::string zsh_script(const std::vector<CommandSummary>& commands) {
  std::string script = "#compdef attn-cli\n_attn_cli() {\n  local -a commands=(\n";
  for (const CommandSummary& command : commands) {
    script += "    '" + command.name + ":" + quoted(command.help, true) + "'\n";
  }
  script +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _arguments '(- *)'{-h,--help}'[Print this help]' '(- *)--version[Print the version]' "
      "\\\n"
      "      '1: :{_describe command commands}'\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n";
  for (const CommandSummary& command : commands) {
    script += "    " + command.name + ") _arguments";
    for (const FlagSummary& flag : command.flags) script += " \\\n      " + zsh_flag(flag);
    const Words words = words_after(command.name);
    if (!words.empty()) script += " \\\n      '1:word:(" + joined(words, " ") + ")'";
    if (takes_files(command)) script += " \\\n      '*:file:_files'";
    script += " ;;\n";
  }
  return script + "  esac\n}\n_attn_cli \"$@\"\n";
}

std::string fish_values(const Completion& values) {
  if (values.list) {
    return " -x -a '(__fish_append , " + joined(values.words, " ") + ")'";
  }
  if (!values.words.empty()) return " -x -a '" + joined(values.words, " ") + "'";
  if (values.names == Completion::Names::folders) return " -x -a '(__fish_complete_directories)'";
  return values.names == Completion::Names::files ? " -r -F" : " -x";
}

std::string fish_script(const std::vector<CommandSummary>& commands) {
  std::string script =
      "# fish completion of attn-cli\n"
      "function __attn_cli_command\n"
      "  set -l words (commandline -opc)\n"
      "  test \"$words[2]\" = $argv[1]\n"
      "end\n"
      "complete -c attn-cli -n __fish_use_subcommand -s h -l help -d 'Print this help'\n"
      "complete -c attn-cli -n __fish_use_subcommand -l version -d 'Print the version'\n";
  for (const CommandSummary& command : commands) {
    script += "complete -c attn-cli -n __fish_use_subcommand -f -a " + command.name + " -d '" +
              quoted(command.help, false) + "'\n";
  }
  for (const CommandSummary& command : commands) {
    const std::string with = "complete -c attn-cli -n '__attn_cli_command " + command.name;
    const std::string after = joined(words_after(command.name), " ");
    if (!after.empty()) {
      script.append(with).append("; and not __fish_seen_subcommand_from ").append(after);
      script.append("' -f -a '").append(after).append("'\n");
    }
    if (!takes_files(command)) script += with + "' -f\n";
    for (const FlagSummary& flag : command.flags) {
      script += with + "'" + (flag.name == "--help" ? " -s h" : "") + " -l " + flag.name.substr(2);
      if (!flag.value.empty()) script += fish_values(completion(flag));
      script += " -d '" + quoted(flag.help, false) + "'\n";
    }
  }
  return script;
}

}  // namespace

int completion_command(const CompletionArguments& arguments) {
  const std::string help = "give one of bash, zsh and fish";
  if (arguments.shells.size() != 1) {
    throw Error(ErrorKind::usage, "completion takes one shell", "attn-cli completion", help);
  }
  const std::string& shell = arguments.shells[0];
  if (shell == "bash") {
    print(bash_script(command_summaries()));
  } else if (shell == "zsh") {
    print(zsh_script(command_summaries()));
  } else if (shell == "fish") {
    print(fish_script(command_summaries()));
  } else {
    throw Error(ErrorKind::usage, "unknown shell \"" + shell + "\"", "attn-cli completion", help);
  }
  return 0;
}

}  // namespace attn::cli
