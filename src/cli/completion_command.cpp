#include "cli/completion_command.hpp"

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

/// What a flag can be set to, if that is a few words.
Words choices(const std::string& flag) {
  if (flag == "--attention") return kind_names();
  if (flag == "--cmap") return map_names();
  if (flag == "--plots")
    return {"heatmap", "dimensions", "grid", "mask", "stages", "lines", "all", "none"};
  if (flag == "--format") return {"png", "svg", "pdf"};
  if (flag == "--tensors") return {"json", "npy", "npz", "safetensors", "csv"};
  if (flag == "--dtype") return {"float32", "float64"};
  if (flag == "--style") return {"standard", "matplotlib"};
  if (flag == "--annotate") return {"auto", "on", "off"};
  if (flag == "--ticks") return {"auto", "labels", "index"};
  if (flag == "--color") return {"auto", "always", "never"};
  if (flag == "--color-range") return {"shared", "panel"};
  if (flag == "--norm") return {"linear", "log", "power"};
  return {};
}

/// What can stand after a command without a flag, if that is not the name of a file.
Words words_after(const std::string& command) {
  if (command == "example") return kind_names();
  if (command == "plot") return plot_kinds;
  if (command == "completion") return {"bash", "zsh", "fish"};
  return {};
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
      bool known = flag.value.empty();
      for (const FlagSummary& other : found) known = known || other.name == flag.name;
      if (!known) found.push_back(flag);
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
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags= words=\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"" +
      joined(names, " ") +
      " --help --version\" -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case $before in\n";
  Words free;
  for (const FlagSummary& flag : flags_with_value(commands)) {
    const Words words = choices(flag.name);
    if (words.empty()) {
      free.push_back(flag.name);
    } else {
      script += "    " + flag.name + ") COMPREPLY=($(compgen -W \"" + joined(words, " ") +
                "\" -- \"$word\")); return ;;\n";
    }
  }
  script += "    " + joined(free, "|") + ") return ;;\n  esac\n  case ${COMP_WORDS[1]} in\n";
  for (const CommandSummary& command : commands) {
    Words flags;
    for (const FlagSummary& flag : command.flags) flags.push_back(flag.name);
    script += "    " + command.name + ") flags=\"" + joined(flags, " ") + "\" words=\"" +
              joined(words_after(command.name), " ") + "\" ;;\n";
  }
  return script +
         "  esac\n"
         "  case $word in\n"
         "    -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$word\")) ;;\n"
         "    *) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
         "  esac\n"
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

std::string zsh_script(const std::vector<CommandSummary>& commands) {
  std::string script = "#compdef attn-cli\n_attn_cli() {\n  local -a commands=(\n";
  for (const CommandSummary& command : commands) {
    script += "    '" + command.name + ":" + quoted(command.help, true) + "'\n";
  }
  script +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n";
  for (const CommandSummary& command : commands) {
    script += "    " + command.name + ") _arguments";
    for (const FlagSummary& flag : command.flags) {
      script += " \\\n      '" + flag.name + "[" + quoted(flag.help, true) + "]";
      if (!flag.value.empty()) {
        const Words words = choices(flag.name);
        script += ":" + quoted(flag.value, true) + ":" +
                  (words.empty() ? "_files" : "(" + joined(words, " ") + ")");
      }
      script += "'";
    }
    const Words words = words_after(command.name);
    if (!words.empty())
      script += " \\\n      '1:" + command.words + ":(" + joined(words, " ") + ")'";
    if (!command.words.empty()) script += " \\\n      '*:file:_files'";
    script += " ;;\n";
  }
  return script + "  esac\n}\n_attn_cli \"$@\"\n";
}

std::string fish_script(const std::vector<CommandSummary>& commands) {
  std::string script = "# fish completion of attn-cli\n";
  for (const CommandSummary& command : commands) {
    script += "complete -c attn-cli -n __fish_use_subcommand -f -a " + command.name + " -d '" +
              quoted(command.help, false) + "'\n";
  }
  for (const CommandSummary& command : commands) {
    const std::string start =
        "complete -c attn-cli -n '__fish_seen_subcommand_from " + command.name + "'";
    const Words after = words_after(command.name);
    if (!after.empty()) script += start + " -a '" + joined(after, " ") + "'\n";
    for (const FlagSummary& flag : command.flags) {
      script += start + " -l " + flag.name.substr(2);
      const Words words = choices(flag.name);
      if (!words.empty()) {
        script += " -x -a '" + joined(words, " ") + "'";
      } else if (!flag.value.empty()) {
        script += " -r";
      }
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
