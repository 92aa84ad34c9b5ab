#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "attn/catalogue.hpp"
#include "attn/error.hpp"
#include "attn/language.hpp"

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/process.hpp"

namespace attn::cli {
namespace {

bool is_flag(const std::string& word) {
  return word.starts_with('-') && word != "-";
}

// Throws Error(usage) for a word that is not a flag or command of `app`, with the nearest one.
// `after`: the command that a word before it, where `command` is empty, may belong to.
[[noreturn]] void refuse_unknown(const CLI::App& app, const std::string& word,
                                 const std::string& command, const std::vector<Command>& all,
                                 const std::string& after = "run") {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options(nullptr)) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  if (!is_flag(word)) {
    if (command.empty()) throw unknown_command(word, all);
    throw unexpected_argument(word, command, std::ranges::count(names, "--text") > 0);
  }
  const std::string flag = word.substr(0, word.find('='));
  const std::string place = command.empty() ? "attn-cli" : command;
  const CLI::Option* const model = app.get_option_no_throw("--model");
  if (model != nullptr && model->count() > 0) {
    const std::string help = advice_beside_model(flag);
    if (!help.empty())
      throw Error(ErrorKind::usage, translated("unknown flag \"{1}\"", flag), place, help);
  }
  throw Error(
      ErrorKind::usage, translated("unknown flag \"{1}\"", flag), place,
      advice(flag, std::vector<std::string_view>(names.begin(), names.end()), command, all, after));
}

std::string spelling(const Flag& flag) {
  const std::string letter = short_name(flag.name);
  return letter.empty() ? flag.name : letter + "," + flag.name;
}

// The words before "--" as commands and their flags: "help run" for "run --help", a file alone for
// "run FILE".
std::vector<std::string> completed(std::vector<std::string> words,
                                   const std::vector<Command>& known) {
  const auto is_command = [&](const std::string& word) {
    return std::any_of(known.begin(), known.end(),
                       [&](const Command& command) { return command.name == word; });
  };
  if (words.empty()) return words;
  if (words[0] == "version") words[0] = "--version";
  if (words.size() == 2 && words[1] == "help" && is_command(words[0]) && !is_file("help"))
    words[1] = "--help";
  if (words[0] == "help") {
    if (words.size() > 1 && is_command(words[1])) return {words[1], "--help"};
    if (words.size() > 1 && !words[1].starts_with('-')) return {words[1]};
    words[0] = "--help";
  }
  const bool flag = words[0].starts_with('-') && words[0] != "-";
  const bool file = is_file(words[0]) || words[0].find_first_of("./{") != std::string::npos;
  if (!flag && !is_command(words[0]) && file) words.insert(words.begin(), "run");
  return words;
}

// A command registered with CLI11 and the arguments that were given to it.
class GivenCommand {
 public:
  // `wanted`: whether this command may be called; only then its flags are registered. CLI11
  // compares each new flag with all others of its command, which takes 2 to 3 ms for all commands.
  GivenCommand(Command command, CLI::App& app, bool wanted)
      : command_(std::move(command)),
        app_(app.add_subcommand(command_.name)),
        texts_(command_.flags.size()) {
    app_->set_help_flag();
    if (!wanted) return;
    app_->allow_extras();
    for (std::size_t i = 0; i < texts_.size(); ++i) add(command_.flags[i], texts_[i]);
  }

  const CLI::App* app() const { return app_; }
  bool takes_words() const { return static_cast<bool>(command_.words.take); }

  // `words`: those that are no flags.
  int call(const std::vector<std::string>& words) const {
    check_needs();
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const Flag& flag = command_.flags[i];
      const bool writes = flag.name == "--out" || (flag.name == "--plot" && flag.value == "FILE");
      if (writes && texts_[i].one) check_output(command_, flag, *texts_[i].one);
      if (texts_[i].given) flag.take("");
      take_values(flag, texts_[i]);
      if (!is_given("--quiet")) warn_of_texts(flag, texts_[i]);
    }
    if (command_.words.files) {
      check_inputs(command_, words, is_given("--model"),
                   is_given("--text") || is_given("--image") || is_given("--ids"));
    }
    if (command_.words.take) command_.words.take(words);
    check_standard_input(words);
    try {
      return command_.call();
    } catch (const Error& error) {
      throw at_flag(with_flags(error));
    }
  }

 private:
  // Texts given to a flag: `given` of a switch, `one` text, or `several` of a repeated flag.
  struct Texts {
    bool given = false;
    std::optional<std::string> one;
    std::vector<std::string> several;
  };

  // The error at the flag that it is about, as it was typed: a file that only a flag names, a key
  // that it sets, and another spelling, "--layer" of "--layers".
  Error at_flag(const Error& error) const {
    constexpr std::string_view files[]{"FILE", "DIR", "LIST", "INPUT"};
    std::string where = error.where();
    // A report in JSON has the weights of one head under another key of each.
    const std::string report = translated("this is a report, not a result");
    const bool json =
        where.ends_with("/weights/0") &&
        error.problem() == translated("expected a number, found {1}", translated("an object"));
    if (json || error.problem() == report) {
      return {error.kind(), report, where,
              translated("pass on the result: attn-cli run … --out - | attn-cli show -")};
    }
    // Patches of a picture have names with a comma.
    if (command_.name == "explain" && where == "--query" && is_list(value_of(where)) &&
        !is_given("--image")) {
      return {error.kind(), error.problem(), where, translated("give one query, or all")};
    }
    if (is_given("--model") && takes("--corpus") && where.ends_with(".txt") &&
        error.problem() == translated("this is plain text, not an input document")) {
      return {error.kind(), error.problem(), where, translated("write {1}", "--corpus " + where)};
    }
    if (where.starts_with('/') && is_given("--" + where.substr(1))) where = "--" + where.substr(1);
    // A file in the folder of one flag may be that of another: the longest name counts.
    std::size_t longest = 0;
    const std::string place = where;
    const std::string* opened_by = nullptr;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const Flag& flag = command_.flags[i];
      const std::string text = texts_[i].one.value_or("");
      const std::string named = '"' + text + (place.empty() ? "" : "\"");
      const bool opened = error.kind() == ErrorKind::file && place != text &&
                          (!place.starts_with("--") || place == flag.name) &&
                          text.size() > longest && std::ranges::count(files, flag.value) > 0 &&
                          error.problem().find(named) != std::string::npos;
      const bool stands_for = !place.empty() && place == flag.spells && is_given(flag.name);
      if (opened) {
        longest = text.size();
        opened_by = flag.value == "FILE" ? &*texts_[i].one : nullptr;
      }
      if (opened || (stands_for && !is_given(place))) where = flag.name;
    }
    if (where == "--heads" && error.problem() == heads_of_a_model())
      return {error.kind(), error.problem(), where, translated("write {1}", "--head N")};
    // A missing file may be no name of one at all.
    if (error.help() != translated("check the name, and the folder it is looked for in"))
      opened_by = nullptr;
    if (opened_by != nullptr && where == "--corpus" && opened_by->find(' ') != std::string::npos) {
      return {error.kind(), error.problem(), where,
              translated("write the texts into a .txt file, one per line, and name it")};
    }
    if (opened_by != nullptr && where == "--architecture" && is_word(*opened_by)) {
      return {error.kind(), error.problem(), where,
              translated("leave it out: known families are recognised; or write {1} into a file",
                         R"({"like": ")" + *opened_by + "\"}")};
    }
    if (opened_by != nullptr && where != "--corpus" && is_word(*opened_by)) {
      return {error.kind(), error.problem(), where,
              translated("{1} takes the name of a file", where)};
    }
    return {error.kind(), error.problem(), where,
            where.starts_with("--") ? keys_as_flags(error.help()) : error.help()};
  }

  // The number of heads that a document splits its tensors into is not that of a model.
  static std::string heads_of_a_model() {
    return translated("\"{1}\" has no meaning for {2} attention", "heads", "model");
  }

  // Whether a name is that of no file by its looks: "ones".
  static bool is_word(const std::string& name) {
    return name.find_first_of("./") == std::string::npos;
  }

  // A help with the flags of the keys of documents that it names, "--image" for "\"image\"". Flags
  // of pictures and of what is split have other meanings than keys of their names.
  std::string keys_as_flags(std::string help) const {
    for (const Flag& flag : command_.flags) {
      if (flag.group == FlagGroup::pictures || flag.name == "--key") continue;
      std::string key = flag.name.substr(2);
      std::ranges::replace(key, '-', '_');
      const bool is_value = help == translated("did you mean \"{1}\"?", key);
      if (is_value || help.find(flag.name) != help.npos) continue;
      for (const auto& quoted : {'"' + key + '"', "“" + key + "”"}) {
        const std::size_t at = help.find(quoted);
        const bool json = at != help.npos && help.substr(at + quoted.size()).starts_with(':');
        if (at != help.npos && !json) help.replace(at, quoted.size(), flag.name);
      }
    }
    return help;
  }

  // Whether a text is numbers with commas or colons between.
  static bool is_list(const std::string& text) {
    return text.find_first_of(",:") != std::string::npos &&
           text.find_first_not_of("0123456789,: ") == std::string::npos;
  }

  std::string value_of(const std::string& flag) const {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (command_.flags[i].name == flag) return texts_[i].one.value_or("");
    }
    return "";
  }

  bool takes(const std::string& flag) const {
    return std::ranges::find(command_.flags, flag, &Flag::name) != command_.flags.end();
  }

  bool is_given(const std::string& flag) const {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const Texts& texts = texts_[i];
      if (command_.flags[i].name == flag) return texts.given || texts.one || !texts.several.empty();
    }
    return false;
  }

  // Whether "--corpus" is given, or "--analyses lens" with that value among others.
  bool is_met(const std::string& need) const {
    const std::size_t space = std::min(need.find(' '), need.size());
    if (space == need.size()) return is_given(need);
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (command_.flags[i].name != need.substr(0, space) || !texts_[i].one) continue;
      const std::vector<std::string> values = comma_separated(*texts_[i].one);
      return std::ranges::count(values, need.substr(space + 1)) > 0 ||
             std::ranges::count(values, "all") > 0;
    }
    return false;
  }

  // Throws Error(usage) for a flag that has no effect without another one, or beside one, and
  // before that for its value, which is wrong with the other one too.
  void check_needs() const {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const Flag& flag = command_.flags[i];
      for (const std::string& other : flag.idle_with) {
        if (!is_given(flag.name) || !is_given(other)) continue;
        take_values(flag, texts_[i]);
        throw Error(ErrorKind::usage, translated("{1} has no effect with {2}", flag.name, other),
                    flag.name, translated("leave one of them out"));
      }
      if (flag.needs.empty() || !is_given(flag.name)) continue;
      if (std::ranges::any_of(flag.needs, [this](const auto& other) { return is_met(other); }))
        continue;
      const bool is_table =
          flag.name == "--format" && value_of("--format") == "csv" && takes("--csv");
      if (!is_table) take_values(flag, texts_[i]);
      const std::vector<std::string_view> others(flag.needs.begin(), flag.needs.end());
      throw Error(ErrorKind::usage,
                  translated("{1} has no effect without {2}", flag.name, alternatives(others)),
                  flag.name,
                  is_table ? translated("write {1}", "--csv")
                  : flag.name == "--color"
                      ? translated("write {1}, or add {2}", "--no-color", flag.needs[0])
                  : command_.name == "explain" && flag.needs[0] == "--why" && !is_given("--model")
                      ? translated("leave it out, or write {2} for all numbers: it is of {1}, "
                                   "which splits a score of a model",
                                   "--why", flag.name == "--csv" ? "--json" : "--full")
                      : translated("add {1}, or leave it out", flag.needs[0]));
    }
  }

  // Whether a text is one word that ends as the names of files with texts do.
  static bool ends_like_a_file(const std::string& text) {
    const std::string ending = std::filesystem::path(text).extension().string();
    return text.find_first_of(" \t\n") == text.npos &&
           (ending == ".txt" || ending == ".md" || ending == ".json" || ending == ".jsonl");
  }

  static void take_values(const Flag& flag, const Texts& texts) {
    if (texts.one) flag.take(*texts.one);
    for (const std::string& text : texts.several) flag.take(text);
  }

  static void warn_of_texts(const Flag& flag, const Texts& texts) {
    for (const std::string& text : texts.several) {
      const std::size_t comma = text.find(',');
      if (flag.name != "--heads-off" || comma == text.npos || !is_digits(text.substr(0, comma)) ||
          !is_digits(text.substr(comma + 1)))
        continue;
      const std::string layer = text.substr(0, comma), head = text.substr(comma + 1);
      warn(
          {translated("{1} stands for all heads of the layers {2} and {3}; head {3} of layer {2} "
                      "is written {4}",
                      flag.name + " " + text, layer, head, layer + "." + head)});
    }
    if (flag.value != "TEXT") return;
    std::vector<std::string> given = texts.several;
    if (texts.one) given.push_back(*texts.one);
    for (const std::string& text : given) {
      if (flag.name == "--text" && text == "-") {
        warn({translated("the text is \"-\" itself: for standard input write {1}",
                         flag.name + " \"$(cat)\"")});
      }
      if (ends_like_a_file(text)) {
        warn({translated("the text is \"{1}\" itself, of which there is no file", text)});
      }
      if (!has_curly_quotes(text)) continue;
      warn({translated("quotes such as “ stay in the text, as shells know only \" and ': write {1}",
                       flag.name + " \"" + without_curly_quotes(text) + '"')});
    }
  }

  // Throws Error(usage) where two inputs are standard input, which can be read once.
  void check_standard_input(const std::vector<std::string>& words) const {
    std::size_t inputs = static_cast<std::size_t>(std::ranges::count(words, "-"));
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const Flag& flag = command_.flags[i];
      const bool file = flag.value == "FILE" && flag.name != "--out";
      if (file && texts_[i].one == "-") ++inputs;
    }
    if (inputs < 2) return;
    throw Error(ErrorKind::usage, translated("standard input is given for {1} inputs", inputs),
                "attn-cli " + command_.name, translated("save all but one of them as files"));
  }

  void add(const Flag& flag, Texts& texts) {
    if (!flag.take) return;
    if (flag.value.empty()) {
      app_->add_flag(spelling(flag), texts.given);
    } else if (flag.optional_value) {
      app_->add_option_function<std::vector<std::string>>(
              spelling(flag),
              [&texts, repeats = flag.repeats](const std::vector<std::string>& values) {
                if (repeats) {
                  texts.several = values.empty() ? std::vector<std::string>{""} : values;
                } else {
                  texts.one = values.empty() ? "" : values.front();
                }
              })
          ->type_name(flag.value)
          ->expected(0, 1)
          ->multi_option_policy(flag.repeats ? CLI::MultiOptionPolicy::TakeAll
                                             : CLI::MultiOptionPolicy::Throw);
    } else if (flag.repeats) {
      app_->add_option(spelling(flag), texts.several)
          ->type_name(flag.value)
          ->allow_extra_args(false);
    } else {
      app_->add_option(spelling(flag), texts.one)->type_name(flag.value);
    }
  }

  Command command_;
  CLI::App* app_;
  std::vector<Texts> texts_;  ///< as the command's flags
};

// The page that --help or -h asks for, of the command that is named; nothing without them.
std::optional<std::string> help_page(const std::vector<std::string>& words,
                                     const std::vector<Command>& known) {
  const auto given = [&](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const bool full = given("--help");
  if (!full && !given("-h")) return std::nullopt;
  for (const Command& command : known) {
    if (!given(command.name)) continue;
    return full ? full_help(command, terminal_columns()) : short_help(command, terminal_columns());
  }
  return overview(known, terminal_columns());
}

std::function<int()> printing(std::string text) {
  return [text = std::move(text)] {
    print(text);
    return 0;
  };
}

}  // namespace

std::vector<Command> commands() {
  std::vector<Command> all{run_command(),      batch_command(),      plot_command(),
                           show_command(),     explain_command(),    heads_command(),
                           circuits_command(), view_command(),       compare_command(),
                           validate_command(), schema_command(),     model_command(),
                           tokens_command(),   example_command(),    bench_command(),
                           list_command(),     completion_command(), manual_command()};
  for (Command& command : all) {
    const bool speaks = std::any_of(command.flags.begin(), command.flags.end(),
                                    [](const Flag& flag) { return flag.name == "--lang"; });
    if (!speaks) add_language(command.flags);
    command.flags.insert(command.flags.begin(),
                         Flag{"--help", "", translated("Print this help"), {}});
  }
  return all;
}

std::function<int()> parse_arguments(int count, const char* const* words) {
  CLI::App app("", "attn-cli");
  app.set_help_flag();
  bool version = false;
  app.add_flag(short_name("--version") + ",--version", version);
  bool json = false;
  // --lang may stand before the command, or without one.
  Flags every;
  add_language(every);
  std::optional<std::string> language;
  app.add_option(every[0].name, language)->type_name(every[0].value);
  app.allow_extras();
  app.require_subcommand(0, 1);

  // No word after "--" is a flag.
  const char* const* const end = words + count;
  const char* const* const flags_end =
      std::find_if(words, end, [](const char* word) { return std::string_view(word) == "--"; });
  const std::vector<std::string> operands(std::min(flags_end + 1, end), end);
  std::vector<Command> all = commands();
  std::vector<std::string> given = completed({std::min(words + 1, flags_end), flags_end}, all);
  if (const auto page = help_page(given, all)) return printing(*page);
  if (!given.empty() && (given[0] == "-V" || given[0] == "--version")) app.add_flag("--json", json);

  // "--title=" gives an empty text.
  for (const Command& command : all) {
    if (given.empty() || command.name != given[0]) continue;
    for (const Flag& flag : command.flags) {
      const auto empty = std::ranges::find(given, flag.name + "=");
      if (flag.value != "TEXT" || empty == given.end()) continue;
      *empty = flag.name;
      given.insert(empty + 1, "");
    }
  }

  // CLI11 keeps pointers to the targets of its options: a command must not move.
  std::vector<std::shared_ptr<const GivenCommand>> known;
  for (Command& command : all) {
    const auto at = std::find(given.begin(), given.end(), command.name);
    const bool wanted = at != given.end();
    if (at == given.begin() && wanted) check_values({at + 1, given.end()}, command);
    known.push_back(std::make_shared<const GivenCommand>(std::move(command), app, wanted));
  }
  try {
    // CLI11 takes the last word first.
    std::reverse(given.begin(), given.end());
    app.parse(given);
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorKind::usage, in_words_of_ours(error.what()), "",
                translated("see {1} --help", "attn-cli"));
  }
  if (language) every[0].take(*language);
  if (version) return printing(json ? version_json() : version_text());
  const auto chosen = app.get_subcommands();
  if (const auto extras = app.remaining(); !extras.empty()) {
    refuse_unknown(app, extras[0], "", commands(), chosen.empty() ? "run" : chosen[0]->get_name());
  }
  for (const auto& command : known) {
    if (chosen.empty() || command->app() != chosen[0]) continue;
    // CLI11 would take "[a,b]" apart, were the words an option of several values.
    std::vector<std::string> left = chosen[0]->remaining();
    const std::string name = "attn-cli " + chosen[0]->get_name();
    for (const std::string& word : left) {
      if (is_flag(word) || !command->takes_words())
        refuse_unknown(*chosen[0], word, name, commands());
    }
    if (!operands.empty() && !command->takes_words()) {
      throw Error(ErrorKind::usage, translated("unexpected argument \"{1}\"", operands[0]), name,
                  translated("it takes flags only: see {1} --help", name));
    }
    left.insert(left.end(), operands.begin(), operands.end());
    return [command, left] { return command->call(left); };
  }
  throw Error(ErrorKind::usage, translated("no command given"), "",
              translated("try {1}, {2}, {3} or {4}", "attn-cli example multi_head > first.json",
                         "attn-cli run first.json", "attn-cli explain first.json --query 1",
                         "attn-cli --help"));
}

}  // namespace attn::cli
