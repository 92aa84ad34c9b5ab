#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
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
  if (flag.value == "SLICE" || flag.value == "RANGE") return ',';
  if (flag.value == "NORM") return ':';
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

// Whether a value is a text, which may have several words.
bool is_text(const Flag& flag) {
  return flag.value == "TEXT" || flag.name == "--font";
}

// Whether a word begins with a dash in place of the hyphens of a flag, as editors that correct what
// is typed write it.
bool begins_with_dash(const std::string& word) {
  return word.starts_with("–") || word.starts_with("—") || word.starts_with("−");
}

// Whether a word after a flag's value looks like a further value, not like an input.
bool goes_on(const Flag& flag, const std::string& word) {
  if (word.empty() || word.starts_with('-') || begins_with_dash(word) || is_file(word))
    return false;
  const auto among = [&](const std::string& part) {
    return std::find(flag.words.begin(), flag.words.end(), part) != flag.words.end();
  };
  double number = 0;
  // Names of tensors: an input would have an extension.
  if (flag.value == "NAME,…") return word.find_first_of("./*?") == std::string::npos;
  if (is_text(flag)) return word.find_first_of("./") == std::string::npos;
  if (is_unit(word)) return flag.value == "WxH";
  return among(word) || parse_number(word, number);
}

constexpr std::string_view opening = "“", closing = "”";

// Text for a value in advice: its few words, "auto|on|off", else the name of the value, "FILE".
std::string placeholder(const Flag& flag) {
  constexpr std::size_t few = 5;
  if (flag.value == "COLOR") return "'#ff0000'";  // which a shell takes for a comment
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

// "2.0,3.1" of heads as pairs of Python, "(2, 0), (3, 1)"; empty for other texts.
std::string meant_pairs(const std::string& text) {
  std::string meant, number;
  std::size_t of_pair = 0;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      number += c;
      continue;
    }
    if (std::string_view("(), []").find(c) == std::string_view::npos) return "";
    if (number.empty()) continue;
    if (++of_pair % 2 == 1) {
      meant += (meant.empty() ? "" : ",") + number + ".";
    } else {
      meant += number;
    }
    number.clear();
  }
  const bool pairs = text.find('(') != std::string::npos && of_pair > 0 && of_pair % 2 == 0;
  return pairs && number.empty() ? meant : "";
}

// Throws Error(usage) for names of heads that are written as elsewhere.
void check_heads(const Flag& flag, const std::string& text) {
  const bool letters = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0;
  if (const std::string head = meant_head(text); flag.name == "--head" && letters && !head.empty())
    throw written_otherwise(flag.name, text, layer_and_head(head));
  if (!flag.value.starts_with("LAYER.HEAD") && flag.value != "PLACE") return;
  if (const std::string pairs = meant_pairs(text); !pairs.empty())
    throw written_otherwise(flag.name, text, flag.name + " " + pairs);
  const std::string layers = flag.name == "--heads-off" ? numbers_of_range(text) : "";
  if (std::string head = text; !layers.empty()) {
    head[head.find_first_of("-:")] = '.';
    throw invalid_value(
        flag.name, text,
        translated("write {1} for a head, {2} for all heads of these layers", head, layers));
  }
  std::string meant;
  bool elsewhere = false;
  for (const std::string& part : comma_separated(text)) {
    const std::string head = meant_head(part);
    elsewhere = elsewhere || !head.empty();
    meant += (meant.empty() ? "" : ",") + (head.empty() ? part : head);
  }
  if (!elsewhere) return;
  throw written_otherwise(flag.name, text, flag.name + " " + meant);
}

// Whether a command line has all that the command reads without the word at `at`.
bool has_inputs(const std::vector<std::string>& words, std::size_t at, const Command& called) {
  constexpr std::string_view of_two[]{"comparison", "difference", "steps"},
      of_model[]{"--text", "--ids", "--image", "--sound"};
  std::ptrdiff_t files = 0, needed = called.name == "compare" ? 2 : 1;
  bool model = false, read = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    const auto flag = std::ranges::find_if(called.flags, [&](const Flag& known) {
      return known.name == name || (name.size() == 2 && short_name(known.name) == name);
    });
    if (flag != called.flags.end()) {
      model = model || name == "--model";
      read = read || std::ranges::count(of_model, name) > 0;
      if (!flag->value.empty() && name == words[i]) ++i;
      continue;
    }
    if (std::ranges::count(of_two, words[i]) > 0) needed = 2;
    if (i != at && is_file(words[i])) ++files;
  }
  return files >= needed || (model && read);
}

// Whether a word after a flag is a text that is meant as a part of its value: the inputs are there,
// and it is none by its looks.
bool is_left_over(const std::vector<std::string>& words, std::size_t at, const Command& called) {
  const std::string& word = words[at];
  const bool known = std::ranges::count(called.words.known, word) > 0;
  if (word.starts_with('-') || begins_with_dash(word) || is_file(word) || known) return false;
  const std::string extension = std::filesystem::path(word).extension().string();
  const bool named = extension.size() > 1 && extension.find(' ') == std::string::npos;
  const bool spaced = word.find(' ') != std::string::npos;
  if (word.find_first_of(spaced ? "/*?{" : "./*?{") != std::string::npos || named) return false;
  return has_inputs(words, at, called);
}

// Whether the word at `at` is one more value of the flag before it.
bool is_further(const Flag& flag, const std::vector<std::string>& words, std::size_t at,
                const Command& called) {
  // The text that is patched may follow the other one.
  if (at >= words.size() || flag.name == "--patch") return false;
  if (goes_on(flag, words[at])) return true;
  // A word beside many inputs may be one more input.
  return called.words.name != "INPUT…" && is_left_over(words, at, called);
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
  constexpr std::string_view truths[]{"true", "false", "on", "off", "yes", "no", "True", "False"},
      untruths[]{"false", "off", "no", "False"};
  const std::string &word = words[at], &next = words[at + 1];
  const auto refuse = [&](const std::string& help) {
    throw Error(ErrorKind::usage,
                translated("{1} takes no value: \"{2}\" is left over", word, next),
                "attn-cli " + called.name, help);
  };
  const auto takes = [&](const char* name) {
    return std::ranges::find(called.flags, name, &Flag::name) != called.flags.end();
  };
  const bool truth = is_digits(next) || std::ranges::count(truths, next) > 0;
  if (truth && !is_file(next)) {
    const bool off = next == "0" || std::ranges::count(untruths, next) > 0;
    const bool query = word == "-q" && is_digits(next) && takes("--query");
    refuse(query ? translated("write {1}", "--query " + next)
           : off && word == "--causal"
               ? translated("leave out {1}, and \"causal\" in the document's \"mask\"", word)
               : translated("leave out {1}", off ? word : '"' + next + '"'));
  }
  if (is_output_of(word, next)) {
    refuse(translated("it prints to standard output: write {1}",
                      "attn-cli " + called.name + " … " + word + " > " + next));
  }
  if (is_left_over(words, at + 1, called)) {
    if (flag.name == "--caption") refuse(translated("write {1}", "--title \"" + next + '"'));
    refuse(translated("leave out \"{1}\"; {2}: {3}", next, flag.name, flag.help));
  }
}

// Throws Error(usage) for a word of blanks, or one that begins with them before a flag, as a
// backslash that is not the last character of its line leaves it.
void check_blanks(const std::string& word, const Command& called) {
  const std::size_t start = word.find_first_not_of(" \t\n");
  const bool flag = start != 0 && start != word.npos && word.substr(start).starts_with("--");
  if (word.empty() || (start != word.npos && !flag)) return;
  throw Error(ErrorKind::usage, translated("\"{1}\" is a word of its own", word),
              "attn-cli " + called.name,
              translated("let each backslash be the last character of its line, and leave it out "
                         "within one"));
}

// Throws Error(usage) for a word with a dash in place of the hyphens of a flag.
void check_dash(const std::string& word, const Command& called) {
  constexpr std::size_t of_dash = 3;  // bytes
  if (begins_with_dash(word) && !is_file(word)) {
    const std::size_t start = std::min(word.find_first_not_of('-', of_dash), word.size());
    const std::string name = "--" + word.substr(start, word.find('=') - start);
    if (std::ranges::find(called.flags, name, &Flag::name) == called.flags.end()) return;
    throw Error(ErrorKind::usage, translated("\"{1}\" begins with a dash, not with a hyphen", word),
                "attn-cli " + called.name, translated("write {1}", name));
  }
}

// Throws Error(usage) for a word of one hyphen and several letters that are not all flags, which
// would be read letter by letter: "-quality", "-x.json".
void check_letters(const std::string& word, const Command& called) {
  if (word.size() < 3 || word[0] != '-' || word[1] == '-' || is_digits(word.substr(1, 1))) return;
  for (std::size_t i = 1; i < word.size(); ++i) {
    const std::string letter = {'-', word[i]};
    const auto flag = std::ranges::find_if(
        called.flags, [&](const Flag& known) { return short_name(known.name) == letter; });
    if (flag != called.flags.end() && !flag->value.empty()) return;  // the rest is its value
    if (flag != called.flags.end()) continue;
    std::vector<std::string_view> names;
    for (const Flag& known : called.flags) names.emplace_back(known.name);
    const std::string command = "attn-cli " + called.name;
    const std::string name = word.substr(0, word.find('='));
    const bool letters = std::ranges::all_of(name.substr(1), [](unsigned char c) {
      return std::isalpha(c) != 0 || c == '-' || c == '_';
    });
    throw Error(ErrorKind::usage, translated("unknown flag \"{1}\"", name), command,
                is_file(word)
                    ? translated("name the file as {1}", "./" + word)
                    : advice(letters ? "-" + name : name, names, command, commands(), called.name));
  }
}

// Throws Error(usage) for the further values after the one at `at`, joined as they should be
// written. `word` is the flag as it was typed, `value` the first of them.
[[noreturn]] void refuse_several(const Flag& flag, const std::vector<std::string>& words,
                                 std::size_t at, const std::string& word, std::string value,
                                 const Command& called) {
  const std::string command = "attn-cli " + called.name, &further = words[at + 1];
  const bool text = is_text(flag);
  const char between = text ? ' ' : separator(flag);
  bool quoted = value.find(' ') != std::string::npos;  // whether each of them stood in quotes
  std::string each = word + " \"" + value + '"';
  while (is_further(flag, words, at + 1, called)) {
    quoted = quoted && words[at + 1].find(' ') != std::string::npos;
    each += " " + word + " \"" + words[at + 1] + '"';
    const bool separated = !value.empty() && value.back() == between;
    if (between != '\0' && !separated && !is_unit(words[at + 1])) value += between;
    value += words[++at];
    if (between != '\0' && value.back() == between) value.pop_back();
  }
  const bool logit = flag.name == "--logit";
  if (logit && !flag.repeats) each.replace(each.rfind(" --"), word.size() + 1, " --against-logit");
  const bool one_by_one = logit || (text && quoted && flag.repeats);
  // The first text of a pair has a flag of its own.
  if (flag.name == "--pair" && std::ranges::count(words, "--text") == 0)
    each.replace(0, word.size(), "--text");
  // Tokens begin with a space, which a shell would take for one between words.
  if (!text && value.find(' ') != std::string::npos) value = '"' + value + '"';
  throw Error(ErrorKind::usage,
              translated("{1} takes one value: \"{2}\" is left over", word, further), command,
              one_by_one        ? translated("write {1}", each)
              : text            ? translated("put it in quotes: {1}",
                                             word + " \"" + without_curly_quotes(value) + "\"")
              : between == '\0' ? translated("leave out \"{1}\"", further)
                                : translated("write {1}", word + " " + value));
}

}  // namespace

bool has_curly_quotes(const std::string& text) {
  return text.starts_with(opening) &&
         (text.ends_with(closing) || text.find(closing) == std::string::npos);
}

std::string without_curly_quotes(const std::string& text) {
  if (!has_curly_quotes(text)) return text;
  const std::size_t end = text.ends_with(closing) ? text.size() - closing.size() : text.size();
  return text.substr(opening.size(), end - opening.size());
}

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
  std::map<std::string, std::string> given;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string name = word.substr(0, word.find('='));
    check_blanks(word, called);
    check_dash(word, called);
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
    check_letters(word, called);
    const auto further = [&](const Flag& flag) { return is_further(flag, words, i + 1, called); };
    if (word != name && named != flags.end() && further(*named))
      refuse_several(*named, words, i, name, word.substr(name.size() + 1), called);
    const auto flag = find(word);
    if (flag == flags.end()) continue;
    const bool last = i + 1 == words.size();
    if (!flag->value.empty() && !flag->repeats) {
      const auto [first, is_first] = given.emplace(flag->name, last ? "" : words[i + 1]);
      if (!is_first) {
        throw Error(
            ErrorKind::usage, translated("{1} is given twice", flag->name), command,
            separator(*flag) == ',' && !last
                ? translated("write {1}", flag->name + " " + first->second + "," + words[i + 1])
                : translated("leave one of them out"));
      }
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
      const bool resume = word == "--continue" && find("--resume") != flags.end();
      throw Error(ErrorKind::usage, translated("{1} needs a value", word), command,
                  resume ? translated("write {1}, or {2} to go on with a batch",
                                      word + " " + placeholder(*flag), "--resume")
                         : translated("write {1}", word + " " + placeholder(*flag)));
    }
    check_heads(*flag, words[i + 1]);
    ++i;
    if (further(*flag)) refuse_several(*flag, words, i, word, words[i], called);
  }
}

}  // namespace attn::cli
