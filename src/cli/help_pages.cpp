#include <algorithm>
#include <array>
#include <sstream>
#include <string>

#include "attn/error.hpp"
#include "attn/language.hpp"

#include "cli/commands.hpp"

namespace attn::cli {
namespace {

/// Examples and common flags of a command's help pages.
struct Page {
  std::string_view command;
  std::array<std::string_view, 3> examples;  ///< empty ones at the end are left out
  /// Names of the dozen flags that its users and its examples need, most wanted first; all commands
  /// share what follows --help.
  std::string_view common;
};
constexpr auto pages = std::to_array<Page>({
    {"run",
     {"attn-cli run document.json", "attn-cli run document.json --causal --out causal",
      "attn-cli run --model gpt2 --text \"The cat sat\""},
     "--out --plots --attention --causal --valid-lens --model --text --generate --layers --head "
     "--stages --tensors --dtype"},
    {"batch",
     {"attn-cli batch documents/ --out results", "attn-cli batch documents/ --out results --resume",
      "attn-cli batch - --out - < documents.jsonl"},
     "--out --jobs --resume --shard --merge --files-from --fail-fast --plots --tensors --only "
     "--model --quiet"},
    {"plot",
     {"attn-cli plot heatmap result/ --out map.pdf",
      "attn-cli plot heatmap weights.npy --head all --out heads.png",
      "attn-cli plot difference a/ b/ --out difference.svg"},
     "--out --name --axes --layers --head --sample --labels --title --cmap --preset --figsize "
     "--dpi --annotate"},
    {"show",
     {"attn-cli show result/", "attn-cli show weights.npy --head 2",
      "attn-cli show result/ --width 100"},
     "--name --axes --layers --head --sample --labels --width --color --as --cmap --json"},
    {"explain",
     {"attn-cli explain document.json", "attn-cli explain document.json --query 2 --full",
      "attn-cli explain result/ --layers 3 --head 1"},
     "--query --sample --layers --head --full --digits --markdown --csv --why --logit --model "
     "--text"},
    {"heads",
     {"attn-cli heads result/", "attn-cli heads --model gpt2 --text \"The cat sat\"",
      "attn-cli heads --model gpt2 --corpus texts.txt --csv"},
     "--model --text --corpus --statistics --analyses --sort --top --csv --against --patch "
     "--layers --plots --out"},
    {"circuits",
     {"attn-cli circuits gpt2", "attn-cli circuits folder/ --heads 9.9 --tokens '\" Mary\"'",
      "attn-cli circuits gpt2 --plots --out circuits"},
     "--heads --tokens --top --listed --csv --plots --out --json"},
    {"view",
     {"attn-cli view result/", "attn-cli view document.json --out page.html",
      "attn-cli view --model gpt2 --text \"The cat sat\""},
     "--out --model --text --layers --head --stages --why --effects --corpus --against --story "
     "--generate --cells"},
    {"compare",
     {"attn-cli compare mine.npy result/", "attn-cli compare a/ b/ --tolerances bf16",
      "attn-cli compare a/ b/ --only output --plot map.png"},
     "--tolerances --rtol --atol --only --map --layout --axes --reshape --strict --seen-only "
     "--plot --quiet --json"},
    {"validate",
     {"attn-cli validate document.json", "attn-cli validate documents/", ""},
     "--files-from --model --text --strict --json --quiet"},
    {"schema", {"attn-cli schema > schema.json", "", ""}, "--lang"},
    {"model",
     {"attn-cli model gpt2", "attn-cli model folder/ --row", ""},
     "--row --architecture --json"},
    {"tokens",
     {"attn-cli tokens --model gpt2 --text \"The cat sat\"", "", ""},
     "--model --text --json"},
    {"example",
     {"attn-cli example multi_head > first.json", "attn-cli example sdpa | attn-cli run -",
      "attn-cli example --folder"},
     "--folder"},
    {"bench",
     {"attn-cli bench", "attn-cli bench --shape 1,12,2048,2048,64 --causal", ""},
     "--shape --attention --causal --window --weights --dtype --threads --cpu --json"},
    {"list", {"attn-cli list", "attn-cli list --json", ""}, "--json"},
    {"completion", {"attn-cli completion bash > attn-cli.bash", "", ""}, "--lang"},
    {"manual", {"attn-cli manual | man -l -", "attn-cli manual run | man -l -", ""}, "--lang"},
});

const Page& page_of(std::string_view command) {
  return *std::ranges::find(pages, command, &Page::command);
}

constexpr auto headings =
    std::to_array<const char*>({to_translate("Input"), to_translate("Computation"),
                                to_translate("Mask"), to_translate("Model"), to_translate("Output"),
                                to_translate("Pictures"), to_translate("Limits")});

// Columns of a text in a terminal: letters of East Asia take two.
std::size_t columns_of(std::string_view text) {
  constexpr unsigned char three_bytes = 0xE2, continuing = 0x80, kind = 0xC0;
  std::size_t columns = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & kind) == continuing) continue;
    columns += byte > three_bytes ? 2 : 1;
  }
  return columns;
}

// Whether a line must not begin with the character, or must not end with it.
bool closes(std::string_view character) {
  return std::string_view("，。；：、？！）”’》】").find(character) != std::string_view::npos;
}
bool opens(std::string_view character) {
  return std::string_view("（“‘《【").find(character) != std::string_view::npos;
}

// The character of a text at a byte.
std::string_view character_at(std::string_view text, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return text.substr(begin, end - begin);
}

// Adds words to a page that break before `width`, later lines indented.
class Paragraph {
 public:
  Paragraph(std::string& page, std::size_t indent, std::size_t width)
      : page_(page), indent_(indent), width_(width), column_(indent) {}

  void add(std::string_view text) {
    std::size_t start = 0;
    while (start < text.size()) {
      std::size_t end = start;
      // A word ends at a space; letters of East Asia may be separated, but not from punctuation.
      while (end < text.size() && text[end] != ' ') {
        const std::string_view character = character_at(text, end);
        const bool wide = static_cast<unsigned char>(text[end]) > 0xE2;
        end += character.size();
        const bool closed = end < text.size() && closes(character_at(text, end));
        if (wide && !closed && !opens(character)) break;
      }
      word(text.substr(start, end - start));
      space_ = end < text.size() && text[end] == ' ';
      start = end + (space_ ? 1 : 0);
    }
    page_ += "\n";
  }

 private:
  void word(std::string_view text) {
    const std::size_t columns = columns_of(text) + (space_ ? 1 : 0);
    if (column_ + columns > width_ && column_ > indent_) {
      page_ += "\n" + std::string(indent_, ' ');
      column_ = indent_;
      space_ = false;
    }
    if (space_) page_ += ' ', ++column_;
    page_ += text;
    column_ += columns_of(text);
  }

  std::string& page_;
  std::size_t indent_, width_, column_;
  bool space_ = false;
};

constexpr std::size_t meaning_column = 24;

void add_entry(std::string& page, const std::string& term, std::string_view meaning,
               std::size_t columns) {
  // In a narrow terminal meanings go below.
  const std::size_t indent = columns >= 2 * meaning_column ? meaning_column : 6;
  page += "  " + term;
  const std::size_t end = 2 + columns_of(term);
  page += end + 1 < indent ? std::string(indent - end, ' ') : "\n" + std::string(indent, ' ');
  Paragraph(page, indent, columns).add(meaning);
}

void add_flag(std::string& page, const Flag& flag, std::size_t columns) {
  std::string term = short_name(flag.name);
  if (!term.empty()) term += ", ";
  term += flag.name;
  if (!flag.value.empty()) {
    term += flag.optional_value ? " [" + flag.value + "]" : " " + flag.value;
  }
  add_entry(page, term, flag.help, columns);
}

std::string head(const Command& command, std::size_t columns) {
  std::string page;
  Paragraph(page, 0, columns).add(command.help + translated("."));
  page += "\n" + translated("{1}: {2}", translated("Usage"), "attn-cli " + command.name);
  if (command.words.take) page += " " + command.words.name;
  if (!command.flags.empty()) page += " " + translated("[FLAGS]");
  page += "\n";
  if (command.words.take) add_entry(page, command.words.name, command.words.help, columns);
  page += "\n" + translated("{1}:", translated("Examples")) + "\n";
  for (const std::string_view line : examples_of(command.name))
    page += "  " + std::string(line) + "\n";
  return page;
}

}  // namespace

std::span<const std::string_view> examples_of(std::string_view command) {
  const auto& lines = page_of(command).examples;
  return {lines.begin(), std::ranges::find(lines, std::string_view())};
}

std::string_view common_flags(std::string_view command) {
  return page_of(command).common;
}

std::span<const char* const> group_headings() {
  return headings;
}

std::string short_name(std::string_view flag) {
  if (flag == "--out") return "-o";
  if (flag == "--quiet") return "-q";
  if (flag == "--help") return "-h";
  if (flag == "--version") return "-V";
  return "";
}

std::string short_help(const Command& command, std::size_t columns) {
  std::string page = head(command, columns);
  page += "\n" + translated("{1}:", translated("Common flags")) + "\n";
  std::istringstream common{std::string(page_of(command.name).common)};
  for (std::string name; common >> name;) {
    const auto flag = std::ranges::find(command.flags, name, &Flag::name);
    if (flag == command.flags.end()) {
      throw Error(ErrorKind::internal, command.name + ": " + name, "", "");
    }
    add_flag(page, *flag, columns);
  }
  page += "\n";
  Paragraph(page, 0, columns)
      .add(translated("All flags: attn-cli {1} --help. The manual: man attn-cli-{1}.",
                      command.name));
  return page;
}

std::string full_help(const Command& command, std::size_t columns) {
  std::string page = head(command, columns);
  for (std::size_t group = 0; group < headings.size(); ++group) {
    bool first = true;
    for (const Flag& flag : command.flags) {
      if (!flag.take || flag.hidden || static_cast<std::size_t>(flag.group) != group) continue;
      if (first) page += "\n" + translated("{1}:", translated(headings[group])) + "\n";
      first = false;
      add_flag(page, flag, columns);
    }
  }
  return page;
}

std::string overview(std::span<const Command> commands, std::size_t columns) {
  std::string page;
  Paragraph(page, 0, columns).add(translated("Computes attention exactly and draws it."));
  page += "\n" +
          translated("{1}: {2}", translated("Usage"),
                     "attn-cli " + translated("COMMAND") + " [INPUT] " + translated("[FLAGS]")) +
          "\n\n" + translated("{1}:", translated("Commands")) + "\n";
  for (const Command& command : commands) add_entry(page, command.name, command.help, columns);
  page += "\n" + translated("{1}:", translated("Options")) + "\n";
  add_entry(page, "-h, --help", translated("Print this help; after a command, its flags"), columns);
  add_entry(page, "-V, --version", translated("Print the version"), columns);
  add_entry(page, "--lang LANG", translated("Language of texts: en or zh (default: the locale's)"),
            columns);
  page += "\n" + translated("To begin with:") + "\n";
  for (const char* line : {"attn-cli example multi_head > first.json", "attn-cli run first.json",
                           "attn-cli explain first.json --query 1"}) {
    page += "  " + std::string(line) + "\n";
  }
  return page;
}

}  // namespace attn::cli
