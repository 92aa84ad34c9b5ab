#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/spec.hpp"

#include "cli/commands.hpp"

namespace attn::cli {
namespace {

// The character between the values that a placeholder names: ',' of "N,N,…", 'x' of "WxH", '.' of
// "LAYER.HEAD".
char separator(const Flag& flag) {
  for (const char between : {',', ':', 'x', '/', '.'}) {
    if (flag.value.find(between) != std::string::npos) return between;
  }
  return flag.list ? ',' : '\0';
}

// Whether a word is a unit of length, which belongs to the number before it.
bool is_unit(const std::string& word) {
  constexpr std::string_view units[]{"cm", "mm", "in", "pt", "px"};
  return std::ranges::count(units, word) > 0;
}

// Whether a word after a flag's value looks like a further value, not like an input.
bool goes_on(const Flag& flag, const std::string& word) {
  if (word.empty() || word.starts_with('-') || is_file(word)) return false;
  const auto among = [&](const std::string& part) {
    return std::find(flag.words.begin(), flag.words.end(), part) != flag.words.end();
  };
  double number = 0;
  // Names of tensors: an input would have an extension.
  if (flag.value == "NAME,…") return word.find_first_of("./*?") == std::string::npos;
  if (flag.value == "TEXT") return word.find_first_of("./") == std::string::npos;
  if (is_unit(word)) return flag.value == "WxH";
  return among(word) || parse_number(word, number);
}

// Text for a value in advice: its few words, "auto|on|off", else the name of the value, "FILE".
std::string placeholder(const Flag& flag) {
  constexpr std::size_t few = 5;
  if (flag.words.empty() || flag.words.size() > few || flag.list) return flag.value;
  std::string text;
  for (const std::string& word : flag.words) text += (text.empty() ? "" : "|") + word;
  return text;
}

// The name of a head as flags take it, "1.1", of one that is written as elsewhere: "L1H1",
// "layer1.head1", "1/1"; empty for other texts.
std::string meant_head(const std::string& text) {
  std::vector<std::string> numbers(1);
  std::string between;
  for (const unsigned char c : text) {
    if (std::isdigit(c) != 0) {
      const bool named = between.empty() || std::isalpha(static_cast<unsigned char>(between[0]));
      if (numbers.back().empty() && !named) return "";
      if (!between.empty() && !numbers.back().empty()) numbers.emplace_back();
      numbers.back() += static_cast<char>(c);
      between.clear();
    } else {
      between += static_cast<char>(std::tolower(c));
      constexpr std::string_view known[]{"l", "layer", "h",     "head",  ".h", "_h",
                                         "/", ".l",    ".head", "_head", "-",  "-h"};
      const bool begins = std::ranges::any_of(
          known, [&](std::string_view word) { return word.starts_with(between); });
      if (!begins) return "";
    }
  }
  const std::string meant = numbers[0] + "." + numbers.back();
  return numbers.size() == 2 && between.empty() && meant != text ? meant : "";
}

// Throws Error(usage) for names of heads that are written as elsewhere.
void check_heads(const Flag& flag, const std::string& text) {
  if (!flag.value.starts_with("LAYER.HEAD") && flag.value != "PLACE") return;
  std::string meant;
  bool elsewhere = false;
  for (const std::string& part : comma_separated(text)) {
    const std::string head = meant_head(part);
    elsewhere = elsewhere || !head.empty();
    meant += (meant.empty() ? "" : ",") + (head.empty() ? part : head);
  }
  if (!elsewhere) return;
  throw Error(ErrorKind::usage, translated("invalid value \"{1}\" for {2}", text, flag.name),
              flag.name, translated("write {1}", flag.name + " " + meant));
}

// Whether a word after a switch is a text that is meant as its value: there is another input, or
// the word is none by its looks.
bool is_left_over(const std::vector<std::string>& words, std::size_t at,
                  const std::vector<std::string>& known) {
  const std::string& word = words[at];
  if (word.starts_with('-') || is_file(word) || std::ranges::count(known, word) > 0) return false;
  if (word.find_first_of("./*?{") != std::string::npos) return false;
  if (word.find(' ') != std::string::npos) return true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != at && is_file(words[i])) return true;
  }
  return false;
}

// Whether a word after a switch is meant as the file of what it prints: "--json report.json".
bool is_output_of(const std::string& flag, const std::string& word) {
  constexpr std::pair<std::string_view, std::string_view> formats[]{
      {"--json", ".json"}, {"--csv", ".csv"}, {"--markdown", ".md"}};
  return !is_file(word) && std::ranges::any_of(formats, [&](const auto& format) {
    return flag == format.first && word.ends_with(format.second);
  });
}

// Throws Error(usage) where the word after the switch at `at` is meant as its value.
void check_after_switch(const Flag& flag, const std::vector<std::string>& words, std::size_t at,
                        const Command& called) {
  constexpr std::string_view truths[]{"true", "false", "on", "off", "yes", "no", "True", "False"};
  const std::string &word = words[at], &next = words[at + 1];
  const auto refuse = [&](const std::string& help) {
    throw Error(ErrorKind::usage,
                translated("{1} takes no value: \"{2}\" is left over", word, next),
                "attn-cli " + called.name, help);
  };
  const bool truth = is_digits(next) || std::ranges::count(truths, next) > 0;
  if (truth && !is_file(next)) refuse(translated("leave out \"{1}\"", next));
  if (is_output_of(word, next)) {
    refuse(translated("it prints to standard output: write {1}",
                      "attn-cli " + called.name + " … " + word + " > " + next));
  }
  if (is_left_over(words, at + 1, called.words.known)) {
    refuse(translated("leave out \"{1}\"; {2}: {3}", next, flag.name, flag.help));
  }
}

// Throws Error(usage) for the further values after the one at `at`, joined as they should be
// written.
[[noreturn]] void refuse_several(const Flag& flag, const std::vector<std::string>& words,
                                 std::size_t at, const std::string& command) {
  const std::string &word = words[at - 1], &further = words[at + 1];
  const bool text = flag.value == "TEXT";
  const char between = text ? ' ' : separator(flag);
  std::string value = words[at];
  while (at + 1 < words.size() && goes_on(flag, words[at + 1])) {
    const bool separated = !value.empty() && value.back() == between;
    if (between != '\0' && !separated && !is_unit(words[at + 1])) value += between;
    value += words[++at];
    if (between != '\0' && value.back() == between) value.pop_back();
  }
  throw Error(ErrorKind::usage,
              translated("{1} takes one value: \"{2}\" is left over", word, further), command,
              text              ? translated("put it in quotes: {1}", word + " \"" + value + "\"")
              : between == '\0' ? translated("leave out \"{1}\"", further)
                                : translated("write {1}", word + " " + value));
}

}  // namespace

bool is_file(const std::string& word) {
  std::error_code none;
  return word == "-" || std::filesystem::exists(word, none);
}

void check_values(const std::vector<std::string>& words, const Command& called) {
  const std::vector<Flag>& flags = called.flags;
  const std::string command = "attn-cli " + called.name;
  const auto find = [&](const std::string& word) {
    return std::find_if(flags.begin(), flags.end(), [&](const Flag& flag) {
      return word == flag.name || (word.size() == 2 && short_name(flag.name) == word);
    });
  };
  std::set<std::string> given;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string name = word.substr(0, word.find('='));
    if (name.size() > 2 && name[0] == '-' && name[1] != '-' && find("-" + name) != flags.end()) {
      throw Error(ErrorKind::usage, translated("unknown flag \"{1}\"", name), command,
                  translated("did you mean \"{1}\"?", "-" + name));
    }
    const auto named = find(name);
    if (word == name + "=" && named != flags.end() && !named->value.empty()) {
      throw Error(ErrorKind::usage, translated("{1} needs a value", name), command,
                  translated("write {1}", name + " " + named->value));
    }
    const bool assigned = word != name && named != flags.end() && named->value.empty();
    if (assigned && name.starts_with('-')) {
      const std::string value = word.substr(name.size() + 1);
      throw Error(ErrorKind::usage,
                  translated("{1} takes no value: \"{2}\" is left over", name, value), command,
                  translated("write {1}, or leave it out", name));
    }
    const auto flag = find(word);
    if (flag == flags.end()) continue;
    const bool last = i + 1 == words.size();
    if (!flag->value.empty() && !flag->repeats && !given.insert(flag->name).second) {
      throw Error(ErrorKind::usage, translated("{1} is given twice", flag->name), command,
                  separator(*flag) == ',' ? translated("write {1}", flag->name + " " + flag->value)
                                          : translated("leave one of them out"));
    }
    if (!last && words[i + 1] == "=") {
      const std::string value = i + 2 < words.size() ? words[i + 2] : flag->value;
      throw Error(ErrorKind::usage, translated("\"=\" is separated from its flag"), command,
                  translated("write {1}", word + "=" + value));
    }
    if (flag->value.empty()) {
      if (!last) check_after_switch(*flag, words, i, called);
      continue;
    }
    if (last || find(words[i + 1]) != flags.end()) {
      if (flag->optional_value) continue;
      throw Error(ErrorKind::usage, translated("{1} needs a value", word), command,
                  translated("write {1}", word + " " + placeholder(*flag)));
    }
    check_heads(*flag, words[i + 1]);
    if (++i + 1 < words.size() && goes_on(*flag, words[i + 1]))
      refuse_several(*flag, words, i, command);
  }
}

}  // namespace attn::cli
