#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "support/in_quotes.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "tokens/regular_expression.hpp"

// Oniguruma's syntax as Ruby has it (doc/RE of kkos/oniguruma), where PCRE2's differs: \s without
// U+180E, \w with all that is alphabetic, \h for hexadecimal digits, nested and intersected
// classes, intervals that no + makes possessive, (?m) for a dot that matches line ends.

namespace attn {
namespace {

// The members of classes, to stand between brackets.
constexpr std::string_view space =
    "\\t-\\r\\x20\\x85\\xA0\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}"
    "\\x{3000}";
// ² ³ ¹ ¼ ½ ¾ too, as Oniguruma's table of Latin-1 has it.
constexpr std::string_view word = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\xB2\\xB3\\xB9\\xBC-\\xBE";
constexpr std::string_view hexadecimal = "0-9A-Fa-f";

std::string bracketed(std::string_view members) {
  return "[" + std::string(members) + "]";
}

std::string excluding(std::string_view members) {
  return "[^" + std::string(members) + "]";
}

class Translator {
 public:
  Translator(std::string_view pattern, const std::string& where)
      : pattern_(pattern), where_(where) {}

  std::string rewritten() {
    while (at_ < pattern_.size()) step();
    return std::move(out_);
  }

 private:
  // A set of characters: members to stand between brackets, and expressions for what cannot.
  struct Set {
    std::string members;
    std::vector<std::string> others;
  };

  [[noreturn]] void refuse(const std::string& what) const {
    throw input_error(
        translated("the pattern {1} holds {2}, which is not supported", in_quotes(pattern_), what),
        where_, translated("write the pattern without it"));
  }

  bool is_next(std::string_view wanted) const { return pattern_.substr(at_).starts_with(wanted); }

  bool take(std::string_view wanted) {
    if (!is_next(wanted)) return false;
    at_ += wanted.size();
    return true;
  }

  // The character that comes next, in all its bytes.
  std::string_view take_character() {
    const std::size_t length = std::max<std::size_t>(utf8_length(pattern_.substr(at_)), 1);
    at_ += length;
    return pattern_.substr(at_ - length, length);
  }

  void atom(std::string_view expression) {
    atom_ = out_.size();
    out_ += expression;
  }

  void step() {
    const char c = pattern_[at_];
    switch (c) {
      case '\\':
        return atom(escape());
      case '[':
        return atom(char_class());
      case '(':
        return open_group();
      case ')':
        if (!groups_.empty()) {
          atom_ = groups_.back();
          groups_.pop_back();
        }
        out_ += take_character();
        return;
      case '{':
        return interval();
      case '*':
      case '+':
      case '?':
        out_ += take_character();
        if (at_ < pattern_.size() && (pattern_[at_] == '?' || pattern_[at_] == '+')) {
          out_ += take_character();
        }
        return;
      default:
        return atom(take_character());
    }
  }

  void open_group() {
    groups_.push_back(out_.size());
    if (take("(?#")) {
      groups_.pop_back();
      const std::size_t end = pattern_.find(')', at_);
      if (end == std::string_view::npos) refuse(translated("a comment without end"));
      at_ = end + 1;
      return;
    }
    if (is_next("(*")) refuse("\"(*\"");
    if (!take("(?")) {
      out_ += take_character();
      return;
    }
    constexpr std::array<std::string_view, 6> plain = {":", "=", "!", ">", "<=", "<!"};
    for (const std::string_view kind : plain) {
      if (!take(kind)) continue;
      out_ += "(?" + std::string(kind);
      return;
    }
    if (is_next("<")) {
      out_ += "(?";
      return;
    }
    open_options();
  }

  // (?i:…), (?i-m:…); (?i) only where it holds for the whole pattern.
  void open_options() {
    const std::size_t begin = at_;
    std::string options;
    while (at_ < pattern_.size() && std::string_view("im-").find(pattern_[at_]) < 3) {
      options += pattern_[at_] == 'm' ? 's' : pattern_[at_];
      ++at_;
    }
    if (!options.empty() && take(":")) {
      out_ += "(?" + options + ":";
      return;
    }
    if (!options.empty() && begin == 2 && take(")")) {
      groups_.pop_back();
      out_ += "(?" + options + ")";
      return;
    }
    refuse(translated("the group {1}",
                      in_quotes("(?" + std::string(pattern_.substr(begin, at_ - begin + 1)))));
  }

  std::optional<unsigned> number() {
    unsigned value = 0;
    const char* begin = pattern_.data() + at_;
    const auto [end, error] = std::from_chars(begin, pattern_.data() + pattern_.size(), value);
    if (error != std::errc()) return std::nullopt;
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  // {n}, {n,}, {n,m}, {,m}; any other brace is itself.
  void interval() {
    const std::size_t begin = at_++;
    const auto least = number();
    const bool comma = take(",");
    const auto most = comma ? number() : std::nullopt;
    if (!take("}") || (!least && !most)) {
      at_ = begin + 1;
      return atom("\\{");
    }
    out_ += "{" + std::to_string(least.value_or(0));
    if (comma) out_ += "," + (most ? std::to_string(*most) : "");
    out_ += "}";
    // A + behind an interval repeats what the interval matches, and so does a ? behind {n}.
    if (is_next("+") || (is_next("?") && !comma)) {
      out_.insert(std::min(atom_, out_.size()), "(?:");
      out_ += ")";
    } else if (is_next("?")) {
      out_ += take_character();
    }
  }

  // A property's name as PCRE2 has it. Names of scripts mean the script alone in Oniguruma, in
  // PCRE2 what is written in that script too.
  std::string property(bool complement) {
    if (!take("{")) refuse(translated("a property without braces"));
    const std::size_t end = pattern_.find('}', at_);
    if (end == std::string_view::npos) refuse(translated("a property without end"));
    std::string_view given = pattern_.substr(at_, end - at_);
    at_ = end + 1;
    if (given.starts_with('^')) {
      complement = !complement;
      given.remove_prefix(1);
    }
    std::string name;
    for (const char c : given) {
      if (c == ' ' || c == '_' || c == '-') continue;
      if (!std::isalpha(static_cast<unsigned char>(c)))
        refuse(translated("the property {1}", in_quotes(given)));
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    constexpr std::array<std::pair<std::string_view, std::string_view>, 14> known = {
        {{"letter", "L"},
         {"mark", "M"},
         {"number", "N"},
         {"punctuation", "P"},
         {"symbol", "S"},
         {"separator", "Z"},
         {"other", "C"},
         {"alpha", "Alphabetic"},
         {"alphabetic", "Alphabetic"},
         {"upper", "Uppercase"},
         {"uppercase", "Uppercase"},
         {"lower", "Lowercase"},
         {"lowercase", "Lowercase"},
         {"any", "Any"}}};
    const auto* const entry =
        std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == name; });
    const bool category = given.size() <= 2;
    const std::string pcre = entry != known.end() ? std::string(entry->second)
                             : category           ? std::string(given)
                                                  : "sc:" + name;
    return std::string(complement ? "\\P{" : "\\p{") + pcre + "}";
  }

  // The character that \x, \u, \t and the like stand for; `letter` is what follows the backslash.
  std::optional<char32_t> character_of(char letter) {
    constexpr std::string_view letters = "tnrfave", meanings = "\t\n\r\f\a\v\x1B";
    const std::size_t which = letters.find(letter);
    if (which != std::string_view::npos) return static_cast<char32_t>(meanings[which]);
    if (letter != 'x' && letter != 'u') return std::nullopt;
    const bool braces = letter == 'x' && take("{");
    const std::size_t most = braces ? 8 : letter == 'u' ? 4 : 2;
    const std::string_view digits = pattern_.substr(at_, most);
    unsigned code = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    const auto length = static_cast<std::size_t>(end - digits.data());
    at_ += length;
    const bool complete = letter == 'u' ? length == 4 : length > 0;
    if (error != std::errc() || !complete || (braces && !take("}")))
      refuse(translated("half an escape"));
    if (letter == 'x' && !braces && code >= 0x80)
      refuse(translated("the byte of a longer character"));
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) refuse(translated("no character"));
    return code;
  }

  static std::string code_point(char32_t c) {
    std::array<char, 16> digits{};
    const auto [end, error] =
        std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<unsigned>(c), 16);
    return "\\x{" + std::string(digits.data(), end) + "}";
  }

  // An escape outside a class.
  std::string escape() {
    ++at_;
    if (at_ == pattern_.size()) refuse(translated("a backslash at its end"));
    const std::string_view given = take_character();
    const char letter = given[0];
    if (const auto c = character_of(letter)) return code_point(*c);
    switch (letter) {
      case 's':
        return bracketed(space);
      case 'S':
        return excluding(space);
      case 'w':
        return bracketed(word);
      case 'W':
        return excluding(word);
      case 'h':
        return bracketed(hexadecimal);
      case 'H':
        return excluding(hexadecimal);
      case 'd':
        return "\\p{Nd}";
      case 'D':
        return "\\P{Nd}";
      case 'b':
      case 'B': {
        const std::string w = bracketed(word);
        const std::string before = "(?<=" + w + ")", not_before = "(?<!" + w + ")";
        const std::string after = "(?=" + w + ")", not_after = "(?!" + w + ")";
        return letter == 'b' ? "(?:" + before + not_after + "|" + not_before + after + ")"
                             : "(?:" + before + after + "|" + not_before + not_after + ")";
      }
      case 'p':
      case 'P':
        return property(letter == 'P');
      case 'N':
        return "[^\\n]";
      case 'O':
        return "(?s:.)";
      case 'A':
      case 'z':
      case 'Z':
      case 'G':
      case 'R':
        return "\\" + std::string(given);
      default:
        break;
    }
    if (std::isdigit(static_cast<unsigned char>(letter))) return "\\" + std::string(given);
    if (std::isalpha(static_cast<unsigned char>(letter))) {
      refuse(translated("the escape {1}", in_quotes("\\" + std::string(given))));
    }
    return (given.size() == 1 ? "\\" : "") + std::string(given);
  }

  // The whole class at the next character, "[".
  std::string char_class() {
    if (++depth_ > 50) refuse(translated("classes nested more than 50 deep"));
    ++at_;
    const bool negated = take("^");
    std::vector<Set> sets(1);  // whose intersection it is
    const std::size_t first = at_;
    while (true) {
      if (at_ >= pattern_.size()) refuse(translated("a class without end"));
      if (pattern_[at_] == ']' && at_ > first) break;
      if (take("&&")) {
        sets.emplace_back();
      } else {
        class_item(sets.back());
      }
    }
    ++at_;
    --depth_;
    if (sets.size() == 1) return expression(sets[0], negated);
    std::string all = negated ? "(?:(?!" : "(?:";
    for (std::size_t i = 0; i + 1 < sets.size(); ++i) {
      all += "(?=" + expression(sets[i], false) + ")";
    }
    all += expression(sets.back(), false);
    return all + (negated ? ")(?s:.))" : ")");
  }

  static std::string expression(const Set& set, bool negated) {
    if (set.others.empty()) {
      if (set.members.empty()) return negated ? "(?s:.)" : "(?!)";
      return negated ? excluding(set.members) : bracketed(set.members);
    }
    std::string any = set.members.empty() ? "" : bracketed(set.members);
    for (const std::string& other : set.others) any += (any.empty() ? "" : "|") + other;
    return negated ? "(?:(?!" + any + ")(?s:.))" : "(?:" + any + ")";
  }

  void class_item(Set& set) {
    if (is_next("[:")) return posix_class(set);
    if (is_next("[")) {
      const std::string nested = char_class();
      // A plain class inside another adds its members.
      if (nested.starts_with('[') && !nested.starts_with("[^")) {
        set.members += nested.substr(1, nested.size() - 2);
      } else {
        set.others.push_back(nested);
      }
      return;
    }
    const auto low = class_character(set);
    if (!low) return;
    set.members += code_point(*low);
    const std::string_view rest = pattern_.substr(at_);
    if (!rest.starts_with('-') || rest.size() < 2 || rest[1] == ']' || rest[1] == '[' ||
        rest.substr(1).starts_with("&&")) {
      return;
    }
    ++at_;
    if (const auto high = class_character(set)) {
      if (*high < *low) refuse(translated("a range that runs backwards"));
      set.members += "-" + code_point(*high);
    } else {
      set.members += code_point(U'-');
    }
  }

  // A character of a class; none where it was a set, which has been added to `set` then.
  std::optional<char32_t> class_character(Set& set) {
    const std::string_view given = take_character();
    if (given != "\\") {
      std::size_t at = 0;
      return next_character(given, at);
    }
    if (at_ == pattern_.size()) refuse(translated("a backslash at its end"));
    const std::string_view escaped = take_character();
    const char letter = escaped[0];
    if (const auto c = character_of(letter)) return c;
    switch (letter) {
      case 's':
        set.members += space;
        return std::nullopt;
      case 'w':
        set.members += word;
        return std::nullopt;
      case 'h':
        set.members += hexadecimal;
        return std::nullopt;
      case 'd':
        set.members += "\\p{Nd}";
        return std::nullopt;
      case 'D':
        set.members += "\\P{Nd}";
        return std::nullopt;
      case 'S':
        set.others.push_back(excluding(space));
        return std::nullopt;
      case 'W':
        set.others.push_back(excluding(word));
        return std::nullopt;
      case 'H':
        set.others.push_back(excluding(hexadecimal));
        return std::nullopt;
      case 'p':
      case 'P':
        set.members += property(letter == 'P');
        return std::nullopt;
      case 'b':
        return U'\b';
      default:
        break;
    }
    if (std::isalnum(static_cast<unsigned char>(letter))) {
      refuse(translated("the escape {1} in a class", in_quotes("\\" + std::string(escaped))));
    }
    std::size_t at = 0;
    return next_character(escaped, at);
  }

  void posix_class(Set& set) {
    at_ += 2;
    const bool negated = take("^");
    const std::size_t end = pattern_.find(":]", at_);
    if (end == std::string_view::npos) refuse(translated("\"[:\" without end"));
    const std::string_view name = pattern_.substr(at_, end - at_);
    at_ = end + 2;
    constexpr std::array<std::pair<std::string_view, std::string_view>, 8> known = {
        {{"space", space},
         {"word", word},
         {"xdigit", hexadecimal},
         {"digit", "\\p{Nd}"},
         {"alpha", "\\p{Alphabetic}"},
         {"alnum", "\\p{Alphabetic}\\p{Nd}"},
         {"upper", "\\p{Uppercase}"},
         {"lower", "\\p{Lowercase}"}}};
    const auto* const entry =
        std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == name; });
    if (entry == known.end())
      refuse(translated("the class {1}", in_quotes("[:" + std::string(name) + ":]")));
    if (negated) {
      set.others.push_back(excluding(entry->second));
    } else {
      set.members += entry->second;
    }
  }

  std::string_view pattern_;
  const std::string& where_;
  std::size_t at_ = 0, atom_ = 0;
  std::size_t depth_ = 0;            // of classes
  std::vector<std::size_t> groups_;  // where the open ones begin in `out_`
  std::string out_;
};

}  // namespace

std::string pcre_from_oniguruma(std::string_view pattern, const std::string& where) {
  return Translator(pattern, where).rewritten();
}

}  // namespace attn
