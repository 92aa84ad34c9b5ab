#include <string>
#include <string_view>

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

// Placeholders of the arguments of a command, in capitals.
std::string words_of(const Command& command) {
  return command.name == "plot" ? "KIND FILE..." : command.words.name;
}

// The manual is in English, like the headings of manual pages.
std::string manual_page() {
  speak({});
  std::string page = ".TH ATTN\\-CLI 1 \"\" \"attn\\-cli " ATTN_VERSION "\" \"User Commands\"\n";
  page +=
      ".SH NAME\nattn\\-cli \\- computes attention exactly and draws it\n"
      ".SH SYNOPSIS\n.B attn\\-cli\n.I COMMAND\n[\\fIFLAGS\\fR] [\\fIINPUT\\fR]\n"
      ".SH DESCRIPTION\n"
      "Reads queries, keys and values, hidden states or tokens from a JSON document, .npy, .npz or "
      ".safetensors files, computes the attention that the document asks for, and writes weights, "
      "output and pictures. In all commands \\fB\\-\\fR stands for standard input.\n"
      ".SH COMMANDS\n";
  const std::vector<Command> all = commands();
  for (const Command& command : all) {
    page += entry(command.name, words_of(command), command.help + ".");
  }
  for (const Command& command : all) {
    if (command.flags.size() <= 1) continue;  // --help alone
    page += ".SH FLAGS OF " + escaped(command.name) + "\n";
    if (command.words.take) page += entry(words_of(command), "", command.words.help + ".");
    for (const Flag& flag : command.flags) {
      page += entry(flag.name, flag.value, flag.help + ".");
    }
  }
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
      "attn\\-cli plot heatmap first/result.json \\-\\-out map.pdf\n"
      "attn\\-cli explain first.json \\-\\-query 1\n.EE\n";
  return page;
}

}  // namespace

Command manual_command() {
  return {"manual", translated("Print the manual page"), {}, {}, [] {
            print(manual_page());
            return 0;
          }};
}

}  // namespace attn::cli
