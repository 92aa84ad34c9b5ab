#include <algorithm>
#include <cctype>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/pictures.hpp"
#include "attn/plot.hpp"

#include "cli/commands.hpp"
#include "cli/name_list.hpp"

namespace attn::cli {
namespace {

// Commands that take a flag, as "attn-cli plot, show".
std::string takers(const std::string& flag, const std::vector<Command>& all) {
  std::string names;
  for (const Command& command : all) {
    if (std::ranges::find(command.flags, flag, &Flag::name) != command.flags.end())
      names += (names.empty() ? "attn-cli " : name_separator()) + command.name;
  }
  return names;
}

// The flag of a command that goes on after another name that only other commands take,
// "--against-logit" for "--against", and takes a value where that does; empty if there is none, or
// are several.
std::string longer_name(const std::string& flag, const std::string& command,
                        const std::vector<Command>& all) {
  const auto takes_value = [&](const Command& one) {
    return std::ranges::any_of(
        one.flags, [&](const Flag& known) { return known.name == flag && !known.value.empty(); });
  };
  const bool valued = std::ranges::any_of(all, takes_value);
  std::string longer;
  for (const Command& one : all) {
    if ("attn-cli " + one.name != command) continue;
    for (const Flag& known : one.flags) {
      if (known.hidden || known.value.empty() == valued || !known.name.starts_with(flag + "-") ||
          known.name.ends_with("-off"))
        continue;
      if (!longer.empty()) return "";
      longer = known.name;
    }
  }
  return longer;
}

// The name of the flag that a letter such as "-q" stands for; another text as it is.
std::string long_name(const std::string& flag, const std::vector<Command>& all) {
  for (const Command& command : all) {
    for (const Flag& known : command.flags) {
      if (flag.size() == 2 && short_name(known.name) == flag) return known.name;
    }
  }
  return flag;
}

// Help for a flag of other programs that names what is written; empty for other flags.
std::string advice_of_output(const std::string& flag, const std::string& command, bool writes) {
  constexpr std::string_view outputs[]{"--out",     "-o",         "--output",     "--output-file",
                                       "--save",    "--save-dir", "--output-dir", "--outdir",
                                       "--savefig", "--out-dir"};
  if (std::ranges::find(outputs, flag) == std::end(outputs)) return "";
  if (writes) return translated("write {1}", "--out");
  if (command == "attn-cli show")
    return translated("write {1}", "attn-cli plot heatmap FILE --out PICTURE");
  return translated("it prints to standard output: write {1}", command + " … > FILE");
}

bool is_listed(const Flag& flag) {
  return !flag.hidden && flag.name != "--help";
}

bool has_few_flags(const Command& command) {
  constexpr std::ptrdiff_t few = 6;
  return std::ranges::count_if(command.flags, is_listed) <= few;
}

// "attn-cli list takes --json, --lang": all flags of a command with few, and of others those that
// its users need most.
std::string flags_taken(const std::string& command, const std::vector<Command>& all) {
  for (const Command& one : all) {
    if ("attn-cli " + one.name != command) continue;
    if (has_few_flags(one)) {
      std::string names;
      for (const Flag& flag : one.flags) {
        if (is_listed(flag)) names += (names.empty() ? "" : name_separator()) + flag.name;
      }
      return translated("{1} takes {2}", command, names);
    }
    std::istringstream names{std::string(common_flags(one.name))};
    std::string common;
    for (std::string name; names >> name;)
      common += (common.empty() ? "" : name_separator()) + name;
    return translated("{1} takes {2} and others: see {1} --help", command, common);
  }
  return translated("see {1} --help", command);
}

// Help on switching a flag off: by the word "off" where it takes that, else by leaving it out.
std::string without(const std::string& name, const std::string& command,
                    const std::vector<Command>& all) {
  for (const Command& one : all) {
    if ("attn-cli " + one.name != command) continue;
    for (const Flag& flag : one.flags) {
      if (flag.name == name && std::ranges::count(flag.words, "off") > 0)
        return translated("write {1}", name + " off");
    }
  }
  return translated("leave out {1}", name);
}

// The flag that takes the name of another one as its value, "--plots grid" for "--grid", or only
// one of what heads do; empty if there is none.
std::string flag_of_value(const std::string& name, const std::string& command,
                          const std::vector<Command>& all, bool of_heads) {
  constexpr std::size_t shortest = 4;  // "--on" could be anything
  std::string value = name.substr(std::min<std::size_t>(name.size(), 2));
  std::ranges::replace(value, '-', '_');
  if (value.size() < shortest) return "";
  for (const Command& one : all) {
    if ("attn-cli " + one.name != command) continue;
    for (const std::string_view lists : {"--plots", "--analyses", "--statistics", ""}) {
      if (of_heads && lists != "--analyses" && lists != "--statistics") continue;
      for (const Flag& flag : one.flags) {
        if ((flag.name == lists || lists.empty()) && std::ranges::count(flag.words, value) > 0)
          return flag.name + " " + value;
      }
    }
  }
  return "";
}

// Words of a text, without marks between them, in lower case.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// Up to three flags that have a word of another one, as "--annotate-color, --color-range" for
// "--color-scheme", or else that have it in what their help says; empty if there is none, or if so
// many have it that it says nothing.
std::string flags_of_words(const std::string& flag, const std::string& command,
                           const std::vector<Command>& all) {
  constexpr std::size_t shortest = 4, most = 3;
  const std::vector<std::string> wanted = words_of(flag);
  const auto of =
      std::ranges::find(all, command, [](const Command& one) { return "attn-cli " + one.name; });
  if (of == all.end() || has_few_flags(*of)) return "";
  for (const bool in_help : {false, true}) {
    std::string alike;
    std::size_t count = 0;
    for (const Flag& known : of->flags) {
      if (known.hidden) continue;
      const std::vector<std::string> own = words_of(in_help ? known.help : known.name);
      const bool shared = std::ranges::any_of(wanted, [&](const std::string& word) {
        return word.size() >= shortest &&
               (std::ranges::count(own, word) > 0 || std::ranges::count(own, word + "s") > 0);
      });
      if (!shared || (++count > most && !in_help)) continue;
      alike += (alike.empty() ? "" : name_separator()) + known.name;
    }
    if (!alike.empty() && (!in_help || count <= most)) return alike;
  }
  return "";
}

}  // namespace

std::string advice(const std::string& flag, const std::vector<std::string_view>& names,
                   const std::string& command, const std::vector<Command>& all,
                   const std::string& after) {
  const auto known = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  constexpr std::string_view sizes[]{"--heads", "--head",   "--batch",   "--batch-size", "--dim",
                                     "--width", "--length", "--seq-len", "--queries",    "--keys"};
  if (known("--shape") && std::ranges::count(sizes, flag) > 0)
    return translated("write {1}", "--shape B,H,Lq,Lk,D");
  if (!known(flag)) {
    const std::string text = advice_of_foreign(flag, names, command);
    if (!text.empty()) return text;
  }
  if (command.empty() && !takers(long_name(flag, all), all).empty())
    return translated("write the command first: {1}", "attn-cli " + after + " " + flag);
  const std::string place = command.empty() ? "attn-cli" : command;
  const std::string name = flag.substr(std::min<std::size_t>(flag.size(), 2));
  for (const Command& one : all) {
    if ("attn-cli " + one.name != place || !flag.starts_with("--")) continue;
    const bool of_folder = flag == "--model" && one.words.name == "FOLDER";
    if (one.name == name || of_folder) return translated("name the file without a flag before it");
    if (std::ranges::count(one.words.known, name) > 0)
      return translated("write {1}", place + " " + name);
  }
  if (flag == "--format" && known("--json"))
    return translated("--json prints JSON, and attn-cli plot draws pictures");
  if (flag.starts_with("-j") && (flag.size() == 2 || is_digits(flag.substr(2)))) {
    return translated("write {1}", (known("--jobs") ? "--jobs " : "--threads ") +
                                       (flag.size() == 2 ? "N" : flag.substr(2)));
  }
  if (!command.empty()) {
    std::string text = advice_of_output(flag, command, known("--out"));
    if (!text.empty()) return text;
  }
  const std::string others = takers(flag, all);
  std::string meant = known(flag + "s") ? flag + "s" : "";
  if (meant.empty() && !others.empty()) meant = longer_name(flag, place, all);
  if (!meant.empty()) {
    return translated("did you mean \"{1}\"?", meant) +
           (others.empty() ? std::string() : translated(" {1} belongs to {2}", flag, others));
  }
  if (flag.starts_with("--no-") && known("--" + flag.substr(5)))
    return without("--" + flag.substr(5), place, all);
  if (!others.empty())
    return translated("{1} takes no {2}: it belongs to {3}", place, flag, others);
  if (const std::string value = flag_of_value(flag, place, all, true); !value.empty())
    return translated("write {1}", value);
  const std::string text = suggestion(flag, names);
  if (text != suggestion("", names)) return text;
  if (const std::string value = flag_of_value(flag, place, all, false); !value.empty())
    return translated("write {1}", value);
  for (const auto& format : picture_formats()) {
    if (flag == "--" + std::string(format.name) && known("--format"))
      return translated("write {1}", "--format " + std::string(format.name));
  }
  for (const Command& one : all) {
    if (flag == "--" + one.name)
      return translated("it is a command: see {1} --help", "attn-cli " + one.name);
  }
  const std::string alike = flags_of_words(flag, place, all);
  if (!alike.empty()) return translated("nearest flags: {2}; see {1} --help", place, alike);
  return flags_taken(place, all);
}

Error unexpected_argument(const std::string& word, const std::string& command, bool takes_text) {
  const auto help = [&] {
    if (takes_text) return translated("give a text with {1}", "--text \"" + word + "\"");
    if (command == "attn-cli list")
      return translated("leave it out: one list has everything; fc-list : family names fonts");
    if (command == "attn-cli schema" && !is_file(word)) {
      return translated(
          "leave it out: the schema has all kinds; attn-cli example {1} prints a document of one",
          word);
    }
    if (command == "attn-cli schema") return translated("write {1}", "attn-cli validate " + word);
    if (command == "attn-cli bench")
      return translated("leave it out: tensors are random, of the sizes of --shape");
    return translated("it takes flags only: see {1} --help", command);
  };
  return {ErrorKind::usage, translated("unexpected argument \"{1}\"", word), command, help()};
}

Error unknown_command(const std::string& word, const std::vector<Command>& all) {
  constexpr std::pair<std::string_view, const char*> others[]{
      {"merge", to_translate("write attn-cli batch --merge DIR")},
      {"download", to_translate("write hf download NAME, and give NAME to --model")},
      {"pull", to_translate("nothing is downloaded: write hf download NAME or ollama pull NAME")},
      {"generate", to_translate("write attn-cli run --model M --text TEXT --generate N")},
      {"masks", to_translate("attn-cli list names what masks are made of")},
      {"convert",
       to_translate("files are not converted: documents and compare read each format, and "
                    "--tensors chooses that of results")},
      {"export", to_translate("write attn-cli run DOCUMENT --tensors npz, or safetensors, npy, "
                              "csv")}};
  const auto help = [&] {
    for (const auto& [name, text] : others) {
      if (word == name) return translated(text);
    }
    if (std::ranges::count(names_of(plot_kinds()), std::string_view(word)) > 0)
      return translated("write {1}", "attn-cli plot " + word + " FILE --out " + word + ".png");
    return suggestion(word, names_of(all));
  };
  return {ErrorKind::usage, translated("unknown command \"{1}\"", word), "", help()};
}

}  // namespace attn::cli
