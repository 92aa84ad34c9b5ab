#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/version.hpp"

#include "cli/commands.hpp"
#include "cli/output.hpp"

namespace attn::cli {
namespace {

// Text in roff: hyphens that can be copied, and no line that roff takes for a command.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\\') {
      result += "\\e";
    } else if (letter == '-') {
      result += "\\-";
    } else if ((letter == '.' || letter == '\'') && (result.empty() || result.back() == '\n')) {
      result += "\\&";
      result += letter;
    } else {
      result += letter;
    }
  }
  return result;
}

// A term in bold with a value in italics, and its meaning below.
std::string entry(std::string_view term, std::string_view value, std::string_view meaning) {
  std::string result = ".TP\n\\fB" + escaped(term) + "\\fR";
  if (!value.empty()) result += " \\fI" + escaped(value) + "\\fR";
  return result + "\n" + escaped(meaning) + "\n";
}

std::string entry(const Flag& flag) {
  const std::string letter = short_name(flag.name);
  return entry(letter.empty() ? flag.name : letter + ", " + flag.name, flag.value, flag.help + ".");
}

// Placeholders of the arguments of a command, in capitals.
std::string words_of(const Command& command) {
  return command.words.name;
}

// A file or a variable, and the command or flag that it concerns; "" concerns the program.
struct Known {
  std::string_view name, concerns, meaning;
};

constexpr auto files = std::to_array<Known>({
    {"attention_results/", "run",
     "Folder of the results, unless --out names another: result.json, tensors and pictures."},
    {"attention_results/", "batch",
     "Folder of the results, unless --out names another: one folder per document and "
     "summary.jsonl."},
    {"attention_heads/", "heads", "Folder of tables, tensors and pictures of heads."},
    {"attention_circuits/", "circuits", "Folder of tables and pictures of circuits."},
    {"view.html", "view", "The page, unless --out names another file."},
    {"/usr/share/attn-cli/examples/", "example", "Documents and texts to begin with."},
    {"~/.cache/huggingface/hub/", "--model", "Models that are called by their names."},
    {"~/.ollama/models/", "--model", "Models of Ollama, called ollama:NAME."},
    {"/usr/share/attn-cli/examples/", "", "Documents and texts to begin with."},
    {"/usr/share/doc/attn-cli/", "", "The documentation; docs/guide.md is its beginning."},
});

constexpr auto variables = std::to_array<Known>({
    {"LANGUAGE, LC_ALL, LC_MESSAGES, LANG", "",
     "Language of texts, unless --lang is given: Chinese if they begin with zh."},
    {"NO_COLOR", "", "If not empty, no colours are printed."},
    {"COLUMNS", "", "Width of help pages, tables and maps in a terminal."},
    {"COLORTERM, TERM", "", "Colours that the terminal has."},
    {"FONTCONFIG_FILE", "", "Fonts of pictures, instead of those of the system."},
    {"HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME", "--model",
     "Place of the models that are called by their names."},
    {"OLLAMA_MODELS", "--model", "Place of the models of Ollama."},
    {"SLURM_PROCID, SLURM_NTASKS, SLURM_ARRAY_TASK_ID, OMPI_COMM_WORLD_RANK, PMI_RANK", "--shard",
     "Part of the work that this process does, as schedulers say."},
});

struct Related {
  std::string_view command;
  std::array<std::string_view, 3> others;
};
constexpr auto related = std::to_array<Related>({
    {"run", {"batch", "explain", "validate"}},
    {"batch", {"run", "validate", "compare"}},
    {"plot", {"show", "run", "view"}},
    {"show", {"plot", "explain", "view"}},
    {"explain", {"run", "show", "view"}},
    {"heads", {"run", "explain", "model"}},
    {"circuits", {"heads", "model", "explain"}},
    {"view", {"plot", "heads", "explain"}},
    {"compare", {"run", "plot", "show"}},
    {"validate", {"run", "batch", "schema"}},
    {"schema", {"validate", "example", "list"}},
    {"model", {"tokens", "heads", "run"}},
    {"tokens", {"model", "run", "heads"}},
    {"example", {"run", "list", "schema"}},
    {"bench", {"run", "list", "compare"}},
    {"list", {"example", "schema", "run"}},
    {"completion", {"manual", "list", "run"}},
    {"manual", {"completion", "list", "run"}},
});

bool takes(const Command& command, std::string_view flag) {
  return std::ranges::find(command.flags, flag, &Flag::name) != command.flags.end();
}

// The entries that concern a command; those of the program without one.
std::string entries(std::span<const Known> table, const Command* command) {
  std::string page;
  for (const Known& known : table) {
    const bool concerned = command == nullptr
                               ? known.concerns.empty()
                               : !known.concerns.empty() && (command->name == known.concerns ||
                                                             takes(*command, known.concerns));
    if (concerned) page += entry(known.name, "", known.meaning);
  }
  return page;
}

// Flags that half of the commands or more take in the same sense.
bool is_common(const Flag& flag, const std::vector<Command>& all) {
  const auto has = [&](const Command& command) {
    return std::ranges::any_of(command.flags, [&](const Flag& other) {
      return other.name == flag.name && other.help == flag.help;
    });
  };
  return 2 * std::ranges::count_if(all, has) >= std::ssize(all);
}

std::string title(std::string name) {
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  });
  return ".TH " + escaped(name) + " 1 \"\" \"attn\\-cli " ATTN_VERSION "\" \"User Commands\"\n";
}

std::string in_small_letters(std::string text) {
  if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' && (text[1] < 'A' || text[1] > 'Z'))
    text[0] = static_cast<char>(text[0] + 32);
  return text;
}

std::string page_of_command(const Command& command, const std::vector<Command>& all) {
  const std::string name = "attn-cli-" + command.name;
  std::string page = title(name) + ".SH NAME\n" + escaped(name) + " \\- " +
                     escaped(in_small_letters(command.help)) + "\n.SH SYNOPSIS\n.B attn\\-cli " +
                     command.name + "\n";
  if (command.words.take) page += ".I " + escaped(words_of(command)) + "\n";
  page += "[\\fIFLAGS\\fR]\n.SH DESCRIPTION\n" + escaped(command.help) + ".\n";
  if (command.words.take) page += entry(words_of(command), "", command.words.help + ".");
  for (std::size_t group = 0; group < group_headings().size(); ++group) {
    std::string flags;
    for (const Flag& flag : command.flags) {
      const bool shown = !flag.hidden && !is_common(flag, all);
      if (static_cast<std::size_t>(flag.group) == group && shown) flags += entry(flag);
    }
    std::string heading = group_headings()[group];
    std::ranges::transform(heading, heading.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    });
    if (!flags.empty()) page += ".SH " + heading + "\n" + flags;
  }
  page += ".SH EXAMPLES\n.EX\n";
  for (const std::string_view line : examples_of(command.name)) page += escaped(line) + "\n";
  page += ".EE\n";
  const std::string its_files = entries(files, &command);
  if (!its_files.empty()) page += ".SH FILES\n" + its_files;
  page += ".SH ENVIRONMENT\n" + entries(variables, &command) +
          ".PP\nVariables and flags of all commands and their exit status:\n"
          ".BR attn\\-cli (1).\n.SH SEE ALSO\n.BR attn\\-cli (1)";
  const auto others = std::ranges::find(related, std::string_view(command.name), &Related::command);
  for (const std::string_view other : others->others) {
    page += ",\n.BR attn\\-cli\\-" + std::string(other) + " (1)";
  }
  return page + "\n";
}

std::string page_of_program(const std::vector<Command>& all) {
  std::string page =
      title("attn-cli") +
      ".SH NAME\nattn\\-cli \\- computes attention exactly and draws it\n"
      ".SH SYNOPSIS\n.B attn\\-cli\n.I COMMAND\n[\\fIFLAGS\\fR] [\\fIINPUT\\fR]\n"
      ".SH DESCRIPTION\n"
      "Reads queries, keys and values, hidden states or tokens from a JSON document, .npy, .npz or "
      ".safetensors files, computes the attention that the document asks for, and writes weights, "
      "output and pictures. In all commands \\fB\\-\\fR stands for standard input.\n"
      ".PP\nEach command has its page:\n.B man attn\\-cli\\-run\nand so on.\n"
      ".SH COMMANDS\n";
  Flags common;
  for (const Command& command : all) {
    page += entry(command.name, words_of(command), command.help + ".");
    for (const Flag& flag : command.flags) {
      const bool listed = std::ranges::find(common, flag.name, &Flag::name) != common.end();
      if (!listed && is_common(flag, all)) common.push_back(flag);
    }
  }
  page += ".SH FLAGS OF ALL COMMANDS\nSome commands have no use for all of these.\n";
  for (const Flag& flag : common) page += entry(flag);
  page += ".SH EXIT STATUS\n";
  page += entry("0", "", "Done.");
  page += entry("1", "", "Done, but compare found a difference, or some items of a batch failed.");
  page += entry("2", "", "The command line is wrong.");
  page += entry("3", "", "The input is wrong.");
  page += entry("4", "", "A file cannot be opened, read or written.");
  page += entry("70", "", "A bug of attn-cli.");
  page += entry("130", "", "Interrupted.");
  page +=
      ".SH EXAMPLES\n.EX\nattn\\-cli example multi_head > first.json\n"
      "attn\\-cli run first.json \\-\\-out first\n"
      "attn\\-cli plot heatmap first/ \\-\\-out map.pdf\n"
      "attn\\-cli explain first.json \\-\\-query 1\n.EE\n";
  page += ".SH FILES\n" + entries(files, nullptr) + ".SH ENVIRONMENT\n" +
          entries(variables, nullptr) + ".SH SEE ALSO\n";
  for (const Command& command : all) {
    page += ".BR attn\\-cli\\-" + command.name + " (1)" + (&command == &all.back() ? "\n" : ",\n");
  }
  return page;
}

// The manual is in English, like the headings of manual pages.
int print_manual(const std::vector<std::string>& given) {
  const auto names = [](const std::vector<Command>& all) {
    std::vector<std::string_view> found;
    found.reserve(all.size());
    for (const Command& command : all) found.push_back(command.name);
    return found;
  };
  if (given.size() > 1) {
    throw Error(ErrorKind::usage, translated("more than one command given"), "attn-cli manual",
                translated("print the pages one by one"));
  }
  if (!given.empty()) {
    const std::vector<Command> known = commands();
    if (std::ranges::find(known, given[0], &Command::name) == known.end()) {
      throw Error(ErrorKind::usage, translated("unknown command \"{1}\"", given[0]),
                  "attn-cli manual", suggestion(given[0], names(known)));
    }
  }
  speak({});
  const std::vector<Command> all = commands();
  print(given.empty() ? page_of_program(all)
                      : page_of_command(*std::ranges::find(all, given[0], &Command::name), all));
  return 0;
}

}  // namespace

Command manual_command() {
  const auto given = std::make_shared<std::vector<std::string>>();
  return {"manual",
          translated("Print a manual page: of the program, or of a command"),
          {"COMMAND", translated("Command whose page is printed (default: the program's)"),
           [&given = *given](const std::vector<std::string>& words) { given = words; }},
          {},
          [given] { return print_manual(*given); }};
}

}  // namespace attn::cli
