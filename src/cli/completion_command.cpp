#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/named.hpp"

#include "cli/commands.hpp"
#include "cli/output.hpp"

namespace attn::cli {
namespace {

using Strings = std::vector<std::string>;

bool takes_folder(const Flag& flag) {
  return flag.value == "DIR";
}

bool takes_file(const Flag& flag) {
  return flag.value == "FILE" || flag.value == "LIST";
}

std::string joined(const Strings& words, const std::string& separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

// Flags of any command that take a value, each once.
std::vector<Flag> flags_with_value(const std::vector<Command>& commands) {
  std::vector<Flag> found;
  for (const Command& command : commands) {
    for (const Flag& flag : command.flags) {
      const bool known = std::any_of(found.begin(), found.end(),
                                     [&](const Flag& other) { return other.name == flag.name; });
      if (!flag.value.empty() && !flag.hidden && !known) found.push_back(flag);
    }
  }
  return found;
}

std::string bash_script(const std::vector<Command>& commands) {
  Strings names;
  for (const Command& command : commands) names.push_back(command.name);
  std::string script =
      "# bash completion of attn-cli; where no word fits, bash completes file names\n"
      "# Words of a list: without those before, and after another one without all and none.\n"
      "_attn_cli_list() {\n"
      "  local given=, part offered=\n"
      "  [[ $1 == *,* ]] && given=,${1%,*},\n"
      "  for part in $2; do\n"
      "    [[ $given == *,$part,* ]] && continue\n"
      "    [[ $given != , && ( $part == all || $part == none ) ]] && continue\n"
      "    offered+=\" $part\"\n"
      "  done\n"
      "  COMPREPLY=($(compgen -P \"${given#,}\" -W \"$offered\" -- \"${1##*,}\"))\n"
      "}\n"
      "_attn_cli() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local flags= words= files= other\n"
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
  Strings free, files;
  for (const Flag& flag : flags_with_value(commands)) {
    const std::string words = "\"" + joined(flag.words, " ") + "\"";
    if (flag.list) {
      script += "    " + flag.name + ") _attn_cli_list \"$word\" " + words + "; return ;;\n";
    } else if (!flag.words.empty()) {
      script += "    " + flag.name + ") COMPREPLY=($(compgen -W " + words +
                " -- \"$word\")); return ;;\n";
    } else {
      (takes_file(flag) || takes_folder(flag) ? files : free).push_back(flag.name);
    }
  }
  script += "    " + joined(files, "|") + ") return ;;\n    " + joined(free, "|") +
            ") compopt +o default 2>/dev/null; return ;;\n  esac\n  case ${COMP_WORDS[1]} in\n";
  for (const Command& command : commands) {
    Strings flags;
    for (const Flag& flag : command.flags) {
      if (!flag.hidden) flags.push_back(flag.name);
    }
    script += "    " + command.name + ") flags=\"" + joined(flags, " ") + "\" words=\"" +
              joined(command.words.known, " ") + "\"" + (command.words.files ? " files=1" : "") +
              " ;;\n";
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

// Text within single quotes of zsh or fish. Brackets and colons are special to zsh.
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

std::string zsh_action(const Flag& flag) {
  if (flag.list) {
    // Neither "all" nor "none" goes together with another word.
    std::string values = "_values -s , value";
    for (const std::string& word : flag.words) {
      const bool whole = word == "all" || word == "none";
      values += whole ? " " + word : " \"(all none)" + word + "\"";
    }
    return values;
  }
  if (!flag.words.empty()) return "(" + joined(flag.words, " ") + ")";
  if (takes_folder(flag)) return "_files -/";
  return takes_file(flag) ? "_files" : " ";
}

std::string zsh_flag(const Flag& flag) {
  const std::string help = "[" + quoted(flag.help, true) + "]";
  if (flag.name == "--help") return "'(- *)'{-h,--help}'" + help + "'";
  if (flag.value.empty()) return "'" + flag.name + help + "'";
  return std::string("'") + (flag.repeats ? "*" : "") + flag.name + "=" + help + ":" +
         quoted(flag.value, true) + ":" + zsh_action(flag) + "'";
}

std::string zsh_script(const std::vector<Command>& commands) {
  std::string script = "#compdef attn-cli\n_attn_cli() {\n  local -a commands=(\n";
  for (const Command& command : commands) {
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
  for (const Command& command : commands) {
    script += "    " + command.name + ") _arguments";
    for (const Flag& flag : command.flags) {
      if (!flag.hidden) script += " \\\n      " + zsh_flag(flag);
    }
    const Strings& words = command.words.known;
    if (!words.empty()) script += " \\\n      '1:word:(" + joined(words, " ") + ")'";
    if (command.words.files) script += " \\\n      '*:file:_files'";
    script += " ;;\n";
  }
  return script + "  esac\n}\n_attn_cli \"$@\"\n";
}

std::string fish_values(const Flag& flag) {
  if (!flag.words.empty()) {
    return std::string(" -x -a '(__attn_cli_") + (flag.list ? "list " : "words ") +
           joined(flag.words, " ") + ")'";
  }
  if (takes_folder(flag)) return " -x -a '(__fish_complete_directories)'";
  return takes_file(flag) ? " -r -F" : " -x";
}

std::string fish_script(const std::vector<Command>& commands) {
  std::string script =
      "# fish completion of attn-cli\n"
      "function __attn_cli_command\n"
      "  set -l words (commandline -opc)\n"
      "  test \"$words[2]\" = $argv[1]\n"
      "end\n"
      "# Values without the help of their flag.\n"
      "function __attn_cli_words\n"
      "  printf '%s\\t\\n' $argv\n"
      "end\n"
      "# Words of a list: without those before, and after another one without all and none.\n"
      "function __attn_cli_list\n"
      "  set -l parts (string split , -- (commandline -ct | string replace -r '^--[^=]*=' ''))\n"
      "  set -l given $parts[1..-2]\n"
      "  test (count $parts) -lt 2; and set given\n"
      "  for word in $argv\n"
      "    contains -- $word $given; and continue\n"
      "    if set -q given[1]; and contains -- $word all none\n"
      "      continue\n"
      "    end\n"
      "    printf '%s\\t\\n' (string join , -- $given $word)\n"
      "  end\n"
      "end\n"
      "complete -c attn-cli -n __fish_use_subcommand -s h -l help -d 'Print this help'\n"
      "complete -c attn-cli -n __fish_use_subcommand -l version -d 'Print the version'\n";
  for (const Command& command : commands) {
    script += "complete -c attn-cli -n __fish_use_subcommand -f -a " + command.name + " -d '" +
              quoted(command.help, false) + "'\n";
  }
  for (const Command& command : commands) {
    const std::string with = "complete -c attn-cli -n '__attn_cli_command " + command.name;
    const std::string after = joined(command.words.known, " ");
    if (!after.empty()) {
      script.append(with).append("; and not __fish_seen_subcommand_from ").append(after);
      script.append("' -f -a '").append(after).append("'\n");
    }
    if (!command.words.files) script += with + "' -f\n";
    for (const Flag& flag : command.flags) {
      if (flag.hidden) continue;
      script += with + "'" + (flag.name == "--help" ? " -s h" : "") + " -l " + flag.name.substr(2);
      if (!flag.value.empty()) script += fish_values(flag);
      script += " -d '" + quoted(flag.help, false) + "'\n";
    }
  }
  return script;
}

constexpr auto shells = std::to_array<Named<std::string (*)(const std::vector<Command>&)>>(
    {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}});

int print_script(const Strings& given) {
  const auto names = names_of(shells);
  const auto wrong = [&](const std::string& problem) {
    return Error(ErrorKind::usage, problem, "attn-cli completion",
                 translated("give {1}", alternatives(names)));
  };
  if (given.size() != 1) throw wrong(translated("completion takes one shell"));
  for (const auto& [name, script] : shells) {
    if (name != given[0]) continue;
    // Scripts are in English: packages install one for all languages.
    speak({});
    print(script(commands()));
    return 0;
  }
  const std::string near = suggestion(given[0], names);
  const std::string problem = translated("unknown shell \"{1}\"", given[0]);
  if (near == suggestion("", names)) throw wrong(problem);
  throw Error(ErrorKind::usage, problem, "attn-cli completion", near);
}

}  // namespace

Command completion_command() {
  const auto given = std::make_shared<Strings>();
  const auto names = names_of(shells);
  return {"completion",
          translated("Print a shell completion script"),
          {"SHELL",
           alternatives(names),
           [&given = *given](const Strings& words) { given = words; },
           {names.begin(), names.end()}},
          {},
          [given] { return print_script(*given); }};
}

}  // namespace attn::cli
