#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "io/number_array.hpp"
#include "io/tensor_call.hpp"
#include "support/errors.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

constexpr std::string_view white_space = " \t\r\n";
constexpr const char* help_quotes =
    to_translate("strings and keys are written in straight double quotes");
constexpr const char* help_shell = to_translate(
    "strings and keys are written in straight double quotes, which a shell takes away "
    "unless the whole text stands in single quotes");
constexpr const char* help_backslash = to_translate("write a backslash itself as \\\\");
constexpr const char* help_fence =
    to_translate("leave out the lines of ```, which are Markdown's, and write JSON alone");
constexpr const char* help_number =
    to_translate("write the number itself, such as 1.4142: JSON computes nothing");
constexpr const char* help_utf8 = to_translate("save the text as UTF-8");

// True for characters of a word without quotes: a literal, a number, a name.
bool is_word(char c) {
  const auto u = static_cast<unsigned char>(c);
  return std::isalnum(u) != 0 || u >= 0x80 || c == '_' || c == '+' || c == '-' || c == '.';
}

std::string place(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t newline = before.rfind('\n');
  std::string_view row = newline == std::string_view::npos ? before : before.substr(newline + 1);
  if (line == 1 && row.starts_with(byte_order_mark)) row.remove_prefix(byte_order_mark.size());
  const auto columns =
      std::count_if(row.begin(), row.end(), [](char c) { return !continues_character(c); });
  return line_place(line, 1 + static_cast<std::size_t>(columns));
}

// Text for a message: in quotes and not too long.
std::string shown(std::string_view token) {
  constexpr std::size_t most = 40;
  if (token.size() <= most) return in_quotes(token);
  std::size_t end = most;
  while (end > 0 && continues_character(token[end])) --end;
  return in_quotes(std::string(token.substr(0, end)) + "…");
}

// Number of JSON (RFC 8259, section 6) at the start of a word: its length, and the missing part if
// it is incomplete.
struct Number {
  std::size_t length;
  const char* problem;
};

Number number_in(std::string_view word) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < word.size() && is_json_digit(word[at])) ++at;
    return at > begin;
  };
  const auto next_is = [&](std::string_view characters) {
    return at < word.size() && characters.find(word[at]) != std::string_view::npos;
  };
  if (next_is("-")) ++at;
  if (next_is("0")) {
    ++at;
  } else if (!digits()) {
    return {at, to_translate(" has no digit after '-'")};
  }
  if (next_is(".")) {
    ++at;
    if (!digits()) return {at, to_translate(" has no digit after its point")};
  }
  if (next_is("eE")) {
    ++at;
    if (next_is("+-")) ++at;
    if (!digits()) return {at, to_translate(" has no digit in its exponent")};
  }
  return {at, nullptr};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string lower_case(std::string_view word) {
  std::string result(word);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool is_special_number(std::string_view word) {
  const std::string small = lower_case(word);
  const std::string_view name =
      std::string_view(small).substr(small.starts_with('-') || small.starts_with('+') ? 1 : 0);
  return name == "nan" || name == "inf" || name == "infinity";
}

// First punctuation of Chinese or Japanese keyboards or word processors in a text, with JSON's
// character for it.
std::string help_for_punctuation(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> marks[]{
      {"：", ":"},  {"，", ","},  {"、", ","}, {"；", ","}, {"“", "\""},  {"”", "\""},
      {"「", "\""}, {"」", "\""}, {"‘", "\""}, {"’", "\""}, {"＂", "\""}, {"【", "["},
      {"】", "]"},  {"［", "["},  {"］", "]"}, {"｛", "{"}, {"｝", "}"}};
  std::size_t first = std::string_view::npos;
  std::string help;
  for (const auto& [mark, instead] : marks) {
    const std::size_t at = text.find(mark);
    if (at >= first) continue;
    first = at;
    help = instead == "\""
               ? translated("{1} is not punctuation of JSON: write the straight quote {2}", mark,
                            instead)
               : translated("{1} is not punctuation of JSON: write {2}", mark, instead);
  }
  return help;
}

// Literals as other languages write them.
bool is_literal(std::string_view small) {
  return small == "true" || small == "false" || small == "none";
}

std::string help_for_word(std::string_view word) {
  if (std::string help = help_for_punctuation(word); !help.empty()) return help;
  // float("-inf") is Python's.
  if (is_special_number(word) || word == "float") {
    return translated("write NaN and infinities as the strings \"nan\", \"inf\" and \"-inf\"");
  }
  if (word == "None") return translated("leave the key out: what is absent is not written");
  if (is_literal(lower_case(word))) {
    return translated("JSON writes true, false and null, in small letters");
  }
  if (word.starts_with("...") || word.starts_with("…"))
    return translated("write all rows and numbers: nothing stands for those between");
  constexpr auto functions = std::to_array<std::string_view>(
      {"sqrt", "exp", "log", "pow", "sin", "cos", "pi", "e", "math.sqrt", "np.sqrt", "math.pi"});
  if (std::ranges::count(functions, word) > 0) return translated(help_number);
  if (word[0] == '+' || word[0] == '.') return translated("a number starts with a digit or '-'");
  if (word[0] == '0' && word.size() > 1 && is_json_digit(word[1]))
    return translated("a number has no leading zeros");
  if (is_json_digit(word[0]) || word[0] == '-') {
    return translated("numbers have digits, a point and an exponent only, such as 1000 or 2.5e-3");
  }
  return translated(help_quotes);
}

// Reads a text by the grammar of JSON up to its first mistake.
class Search {
 public:
  Search(std::string_view text, bool quotes)
      : text_(text),
        quotes_(quotes),
        at_(text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0) {}

  [[noreturn]] void throw_first_fault() {
    Expected expected = Expected::value;
    while (true) {
      at_ = std::min(text_.find_first_not_of(white_space, at_), text_.size());
      const char c = at_ < text_.size() ? text_[at_] : '\0';
      const bool value = expected == Expected::value || expected == Expected::value_or_end;
      const bool key = expected == Expected::key || expected == Expected::key_or_end;
      read_token();
      if (value && (c == '[' || c == '{')) {
        open_ += c;
        opened_.push_back(begin_);
        expected = c == '[' ? Expected::value_or_end : Expected::key_or_end;
      } else if (value && is_value_) {
        expected = after_value();
      } else if (key && c == '"') {
        expected = Expected::colon;
      } else if (expected == Expected::colon && c == ':') {
        expected = Expected::value;
      } else if (expected == Expected::comma && c == ',') {
        expected = open_.back() == '[' ? Expected::value : Expected::key;
      } else if (!open_.empty() && c == (open_.back() == '[' ? ']' : '}') &&
                 (expected == Expected::comma || expected == Expected::value_or_end ||
                  expected == Expected::key_or_end)) {
        open_.pop_back();
        opened_.pop_back();
        expected = after_value();
      } else {
        throw_misplaced(expected);
      }
    }
  }

 private:
  enum class Expected { value, value_or_end, key, key_or_end, colon, comma, end };

  Expected after_value() const { return open_.empty() ? Expected::end : Expected::comma; }

  [[noreturn]] void fail(const std::string& problem, std::size_t offset,
                         const std::string& help) const {
    throw input_error(translated("not valid JSON: {1}", problem), place(text_, offset), help);
  }

  // Moves behind the next token: a string, a word or one character. Mistakes inside it are reported
  // before its place.
  void read_token() {
    begin_ = at_;
    word_ = {};
    is_value_ = false;
    if (at_ == text_.size()) return;
    if (text_[at_] == '"') {
      is_value_ = true;
      return read_string();
    }
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    word_ = text_.substr(begin_, at_ - begin_);
    if (word_.empty()) {
      ++at_;
      return;
    }
    if (!is_utf8(word_)) fail(translated("a byte is not UTF-8"), begin_, translated(help_utf8));
    is_value_ = word_ == "true" || word_ == "false" || word_ == "null";
    if (!is_json_digit(word_[0]) && word_[0] != '-') return;
    const Number number = number_in(word_);
    is_value_ = number.problem == nullptr && number.length == word_.size();
    if (number.problem == nullptr || is_special_number(word_)) return;
    fail((quotes_ ? shown(word_) : translated("a number")) + translated(number.problem), begin_,
         translated("write the whole number, such as 1.0 or 1e5"));
  }

  void read_string() {
    if (text_.substr(begin_).starts_with("\"\"\""))
      fail(translated("a string stands in three quotes"), begin_,
           translated("write one quote on each side, and each line break as \\n"));
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return;
      }
      if (c == '\n') {
        fail(translated("a string continues past the end of its line"), at_,
             translated("close the string, or write the line break as \\n"));
      }
      if (static_cast<unsigned char>(c) < 0x20) {
        fail(translated("a string holds a control character"), at_,
             translated("write a tab as \\t and other control characters as \\u00XX"));
      }
      if (c == '\\') {
        read_escape();
        continue;
      }
      const std::size_t length = utf8_length(text_.substr(at_));
      if (length == 0)
        fail(translated("a string holds a byte that is not UTF-8"), at_, translated(help_utf8));
      at_ += length - 1;
    }
    fail(translated("a string has no closing quote"), begin_, translated("add the closing quote"));
  }

  // Moves from a backslash to the last character of its escape.
  void read_escape() {
    const std::size_t begin = at_++;
    if (at_ == text_.size()) return;
    if (text_[at_] != 'u') {
      constexpr std::string_view escapes = "\"\\/bfnrt";
      if (escapes.find(text_[at_]) != std::string_view::npos) return;
      fail(translated("a string has a backslash before a character that cannot be escaped"), at_,
           translated(help_backslash));
    }
    unsigned code = 0;
    read_digits(code);
    if (code < 0xD800 || code > 0xDFFF) return;
    unsigned second = 0;
    if (code < 0xDC00 && text_.substr(at_ + 1).starts_with("\\u")) {
      at_ += 2;
      read_digits(second);
    }
    if (second >= 0xDC00 && second <= 0xDFFF) return;
    fail(translated("a string holds half of a surrogate pair"), begin,
         translated("write \\ud800 to \\udbff and \\udc00 to \\udfff in pairs, or the character "
                    "itself"));
  }

  // Reads the four digits behind the 'u'.
  void read_digits(unsigned& code) {
    for (int i = 0; i < 4; ++i) {
      ++at_;
      const char c = at_ < text_.size() ? text_[at_] : '\0';
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0) {
        fail(translated("\\u in a string is not followed by 4 hexadecimal digits"), at_,
             translated(help_backslash));
      }
      code = code * 16 + static_cast<unsigned>(is_json_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
  }

  // Throws for a correct token in a wrong place.
  [[noreturn]] void throw_misplaced(Expected expected) const {
    const auto refuse = [&](const std::string& wanted, const std::string& help) {
      fail(translated("expected {1}, found {2}", wanted, found()), begin_, help);
    };
    const std::string help = help_for_token(expected);
    if (expected == Expected::end) {
      const char c = text_[begin_];
      refuse(translated("the end of the text"),
             c == '}' || c == ']' ? translated("remove it, or add the bracket that it closes")
             : c == '`'           ? translated(help_fence)
             : c == ':' ? translated("put { before the first key and } after the last value")
             : c == '{' ? translated("give one document at a time, or one per line of a "
                                     ".jsonl file to attn-cli batch")
             : is_json_digit(c) || c == '-' || c == '['
                 ? translated("one text holds one value: put all of them into one list")
                 : translated("one text holds one value"));
    }
    if (expected == Expected::key || expected == Expected::key_or_end) {
      const bool shell = !word_.empty() && text_.find_first_of("\"'") == text_.npos &&
                         help_for_punctuation(word_).empty();
      const bool row = begin_ < text_.size() && text_[begin_] == '[';
      refuse(translated("a key"),
             shell ? translated(help_shell)
             : row ? translated("rows of numbers stand in [ ]; { } is for members with names")
             : help.empty() ? translated(help_quotes)
                            : help);
    }
    if (!word_.empty() && !is_value_)
      fail(translated("{1} is not a JSON value", found()), begin_, help);
    if (expected == Expected::colon) refuse(translated("':' after the key"), help);
    if (expected == Expected::comma)
      refuse(translated("{1} or {2}", "','", open_.back() == '[' ? "']'" : "'}'"), help);
    refuse(translated("a value"), help);
    throw Error(ErrorKind::internal, translated("a text was refused that is JSON"), "", "");
  }

  std::string found() const {
    // A file that a document names may be somebody's secret, which errors do not repeat.
    if (!word_.empty()) {
      const bool known = is_special_number(word_) || is_literal(lower_case(word_));
      return !open_.empty() && (known || quotes_) ? shown(word_) : translated("a word");
    }
    if (begin_ == text_.size()) return translated("the end of the text");
    const char c = text_[begin_];
    if (c == '"') return translated("a string");
    if (c == '\'') return in_quotes("'");
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return translated("a control character");
    return std::string({'\'', c, '\''});
  }

  std::string help_for_token(Expected expected) const {
    const bool at_end = begin_ == text_.size();
    if (expected == Expected::comma && !at_end &&
        (is_value_ || text_[begin_] == '[' || text_[begin_] == '{')) {
      return translated("add a comma before it");
    }
    if (is_value_) return "";
    if (!word_.empty()) {
      // A file that a document names may be somebody's secret, which errors do not repeat.
      const std::string call = quotes_ ? instead_of_call(text_.substr(begin_)) : "";
      return call.empty() ? help_for_word(word_) : call;
    }
    if (at_end) {
      return translated("the text seems to be cut off: a bracket or a quote is not closed");
    }
    const char c = text_[begin_];
    const std::size_t before = text_.substr(0, begin_).find_last_not_of(white_space);
    if ((c == ']' || c == '}') && before != std::string_view::npos && text_[before] == ',') {
      return translated("remove the comma before '{1}'", std::string(1, c));
    }
    if (c == '`' && text_.substr(begin_).starts_with("```")) return translated(help_fence);
    if (c == '\'' || c == '`') return translated(help_quotes);
    if ((c == ']' || c == '}') && !open_.empty() && expected != Expected::value &&
        expected != Expected::colon)
      return help_for_bracket(c);
    if ((c == '*' || c == '%') && expected == Expected::comma) return translated(help_number);
    if (c == '/' && expected == Expected::comma && begin_ > 0 && is_json_digit(text_[begin_ - 1]))
      return translated("write a fraction as a decimal number, such as 0.5");
    if (c == '(') return translated("arrays have square brackets, [ and ]");
    if (c == '#' || c == '/') return translated("JSON has no comments");
    if (c == '=' && expected == Expected::colon) return translated("write {1}", "':'");
    if (c == ';' && expected == Expected::comma) return translated("write {1}", "','");
    return "";
  }

  // Help for a bracket that closes another kind than the last that is open.
  std::string help_for_bracket(char c) const {
    const std::string closing = open_.back() == '[' ? "']'" : "'}'";
    if (open_.find(c == ']' ? '[' : '{') == std::string::npos)
      return translated("remove it, or write {1} in its place", closing);
    return translated("write {1} before it or in its place: the bracket at {2} is open", closing,
                      place_for_readers(place(text_, opened_.back())));
  }

  std::string_view text_;
  bool quotes_;
  std::size_t at_, begin_ = 0;       // offsets of the next token and of the last one
  std::string_view word_;            // last token if it is a word
  bool is_value_ = false;            // whether the last token is a whole value
  std::string open_;                 // open brackets
  std::vector<std::size_t> opened_;  // their offsets
};

}  // namespace

void throw_json_syntax_error(std::string_view text, bool quotes) {
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    throw input_error(translated("not valid JSON: the text holds a zero byte"), place(text, zero),
                      translated(help_utf8));
  }
  const std::size_t start = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
  if (text.find_first_not_of(white_space, start) == std::string_view::npos) {
    throw input_error(translated("not valid JSON: the text is empty"), "",
                      translated("check that the file was saved, or that a program wrote to it"));
  }
  Search(text, quotes).throw_first_fault();
}

}  // namespace attn
