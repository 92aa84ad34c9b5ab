#include <algorithm>
#include <cctype>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "attn/error.hpp"

#include "io/json_document.hpp"
#include "io/json_value.hpp"
#include "io/number_array.hpp"
#include "support/memory.hpp"
#include "support/printable.hpp"
#include "support/process_limits.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "support/work_budget.hpp"

namespace attn {
namespace {

// Throws as throw_json_syntax_error() does; `quotes` is whether the error quotes words of the text.
[[noreturn]] void throw_syntax_error(std::string_view text, bool quotes);

// A block and the number of its array among the arrays of the text, in the order of their opening
// brackets.
struct Placed {
  std::size_t array;
  std::shared_ptr<const NumberBlock> block;
};

// Values within values are copied and destroyed recursively. Bytes of stack that a level takes at
// most, and levels for which each stack has room.
#ifdef __OPTIMIZE__
constexpr std::size_t stack_per_level = 512;
#else
constexpr std::size_t stack_per_level = 2048;
#endif
constexpr std::size_t levels_on_any_stack = 32;

// Builds values from the events of nlohmann's parser. Its own stack of open arrays and objects
// keeps deep nesting from overflowing the program's stack.
class Builder {
 public:
  Builder(std::string_view text, std::size_t depth, std::span<const Placed> blocks, bool quotes)
      : text_(text), depth_(depth), blocks_(blocks), quotes_(quotes) {}

  JsonValue take() { return std::move(root_); }

  bool null() { return add(JsonValue{}); }
  bool boolean(bool truth) { return add({truth}); }
  bool number_integer(std::int64_t number) { return add({number}); }
  bool number_unsigned(std::uint64_t number) {
    if (std::in_range<std::int64_t>(number)) {
      return number_integer(static_cast<std::int64_t>(number));
    }
    return add({static_cast<double>(number)});
  }
  bool number_float(double number, const std::string&) { return add({number}); }
  bool string(std::string& text) {
    return add({text.empty() ? JsonValue::Text() : JsonValue::Text(std::move(text))});
  }
  bool binary(nlohmann::json::binary_t&) { return false; }

  bool start_array(std::size_t) {
    const bool placed = !blocks_.empty() && blocks_.front().array == arrays_;
    ++arrays_;
    // Levels inside a block count as well.
    if (placed) check_depth(open_.size() + blocks_.front().block->shape().size());
    return open({JsonValue::Array{}});
  }
  bool start_object(std::size_t) { return open({JsonValue::Object{}}); }
  bool key(std::string& name) {
    open_.back().key = std::move(name);
    return true;
  }
  bool end_array() {
    if (!blocks_.empty() && blocks_.front().array + 1 == arrays_) {
      open_.back().value.data = JsonValue::Block(blocks_.front().block);
      blocks_ = blocks_.subspan(1);
    }
    return close();
  }
  bool end_object() {
    check_keys(open_.back().value.members());
    return close();
  }

  bool parse_error(std::size_t, const std::string& last_token,
                   const nlohmann::detail::exception& exception) {
    constexpr int number_overflow = 406;
    if (exception.id == number_overflow) {
      throw input_error(
          translated("the number {1} is beyond the range of a double", shown_name(last_token)),
          pointer(open_.size()), translated("infinities are written \"inf\" and \"-inf\""));
    }
    throw_syntax_error(text_, quotes_);
  }

 private:
  struct Open {
    JsonValue value;
    std::string key;  // of the member under read, in objects
  };

  bool add(JsonValue value) {
    constexpr std::size_t often = 1U << 16;
    if (++values_ % often == 0) check_time();
    if (open_.empty()) {
      root_ = std::move(value);
      return true;
    }
    JsonValue& parent = open_.back().value;
    if (auto* object = std::get_if<JsonValue::Object>(&parent.data)) {
      (*object)->push_back({std::move(open_.back().key), std::move(value)});
      return true;
    }
    std::get<JsonValue::Array>(parent.data)->push_back(std::move(value));
    return true;
  }

  bool open(JsonValue value) {
    check_depth(open_.size() + 1);
    open_.push_back({std::move(value), {}});
    return true;
  }

  void check_depth(std::size_t levels) {
    // A pointer with all levels would fill the screen.
    const auto place = [&] {
      constexpr std::size_t steps_shown = 8;
      const bool cut = open_.size() > steps_shown;
      return pointer(std::min(open_.size(), steps_shown)) + (cut ? "/…" : "");
    };
    if (levels > depth_) {
      throw input_error(
          translated("arrays and objects are nested deeper than {1} levels", depth_), place(),
          translated(
              "look for brackets that are not closed, or raise the limit with Limits::nesting"));
    }
    if (levels <= levels_on_any_stack) return;
    if (levels_on_stack_ == 0) {
      levels_on_stack_ = levels_on_any_stack + stack_left().value_or(SIZE_MAX) / stack_per_level;
    }
    if (levels > levels_on_stack_) {
      throw input_error(translated("arrays and objects are nested deeper than the {1} levels that "
                                   "the program's stack has room for",
                                   levels_on_stack_),
                        place(),
                        translated("look for brackets that are not closed, or allow a larger stack "
                                   "(ulimit -s)"));
    }
  }

  bool close() {
    JsonValue value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }

  void check_keys(std::span<const JsonMember> members) const {
    if (members.size() < 2) return;
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const int compared = members[a].key.compare(members[b].key);
      return compared != 0 ? compared < 0 : a < b;
    });
    // The error names the key whose repetition comes first in the text.
    std::size_t repeated = members.size();
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (members[order[i]].key == members[order[i - 1]].key) {
        repeated = std::min(repeated, order[i]);
      }
    }
    if (repeated == members.size()) return;
    const std::string& name = members[repeated].key;
    throw input_error(translated("the key {1} is given twice", in_quotes(name)),
                      pointer_to(pointer(open_.size() - 1), name),
                      translated("remove one of the two"));
  }

  // JSON pointer to the value under read, of the outermost `depth` open values.
  std::string pointer(std::size_t depth) const {
    std::string result;
    for (std::size_t i = 0; i < depth; ++i) {
      const Open& open = open_[i];
      result = open.value.is(JsonValue::Type::object) ? pointer_to(result, open.key)
                                                      : pointer_to(result, open.value.size());
    }
    return result;
  }

  std::string_view text_;
  std::size_t depth_, levels_on_stack_ = 0;  // 0: not asked yet
  std::span<const Placed> blocks_;           // blocks that follow
  bool quotes_;                              // whether errors quote the text
  std::size_t values_ = 0;                   // number of values read
  std::size_t arrays_ = 0;                   // number of arrays begun
  std::vector<Open> open_;
  JsonValue root_;
};

// Text with an empty array in the place of each number array.
struct Outline {
  std::string text;
  std::vector<std::size_t> arrays;  // numbers of these arrays in the text
};

Outline outline(std::string_view text, std::span<const NumberArray> blocks) {
  Outline result;
  std::size_t arrays = 0;
  bool in_string = false;
  const auto add = [&](std::string_view part) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] == '"') in_string = !in_string;
      if (part[i] == '\\') {
        ++i;
      } else if (part[i] == '[' && !in_string) {
        ++arrays;
      }
    }
    result.text += part;
  };
  std::size_t at = 0;
  for (const NumberArray& block : blocks) {
    const auto begin = static_cast<std::size_t>(block.text.data() - text.data());
    add(text.substr(at, begin - at));
    result.arrays.push_back(arrays++);
    result.text += "[]";
    at = begin + block.text.size();
  }
  add(text.substr(at));
  return result;
}

// Bytes that the values of a text take, counted before any is made: each value itself, the boxes of
// arrays and objects with their least allocations, and strings that are not empty.
double bytes_of_values(std::string_view text) {
  constexpr std::size_t of_box = 64, of_string = 48;
  std::size_t bytes = sizeof(JsonValue);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const std::size_t begin = ++i;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      if (i > begin) bytes += of_string + (i - begin > sizeof(std::string) / 2 ? i - begin : 0);
    } else if (c == ',') {
      bytes += sizeof(JsonValue);
    } else if (c == ':') {
      bytes += sizeof(JsonMember) - sizeof(JsonValue);
    } else if ((c == '[' || c == '{') && text.substr(i + 1, 1) != "]") {
      bytes += of_box;
    }
  }
  return static_cast<double>(bytes);
}

// Throws for a text whose values take far more memory than itself, such as millions of brackets.
void check_bytes_of_values(std::string_view text) {
  constexpr double each_byte = 12, at_most_each_byte = 40, any_text = 120e6;
  const double most = std::max(any_text, each_byte * static_cast<double>(text.size()));
  if (at_most_each_byte * static_cast<double>(text.size()) <= most) return;
  const double bytes = bytes_of_values(text);
  if (bytes <= most) return;
  throw input_error(
      translated("the values of the JSON text take {1} bytes of memory, and the limit "
                 "for its {2} bytes is {3}",
                 std::to_string(static_cast<std::uint64_t>(bytes)), text.size(),
                 std::to_string(static_cast<std::uint64_t>(most))),
      "",
      translated("give numbers in arrays with rows of one length, and many texts in "
                 "several documents of a batch"));
}

JsonValue parse_outline(std::string_view text, std::size_t depth, std::span<const Placed> blocks,
                        bool quotes) {
  // nlohmann's parser takes a zero byte outside strings for the end of the text.
  if (text.find('\0') != std::string_view::npos) throw_syntax_error(text, quotes);
  // A value of 16 bytes takes at least two characters.
  check_memory(text.size() / 2, sizeof(JsonValue), translated("the values of the JSON text"), "");
  check_bytes_of_values(text);
  Builder builder(text, depth, blocks, quotes);
  nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &builder);
  return builder.take();
}

DType stated_dtype(const JsonValue& root, DType otherwise) {
  const JsonValue* dtype = root.find("dtype");
  if (dtype == nullptr || !dtype->is(JsonValue::Type::string)) return otherwise;
  if (dtype->string() == name(DType::float32)) return DType::float32;
  return dtype->string() == name(DType::float64) ? DType::float64 : otherwise;
}

}  // namespace

JsonValue parse_json_by_element(std::string_view text, std::size_t depth) {
  return parse_outline(text, depth, {}, false);
}

namespace {

// Parses the text; `quotes` is whether syntax errors quote its words.
JsonValue parsed(std::string_view text, const JsonOptions& options, bool quotes) {
  // 1. Find the number arrays.
  std::vector<NumberArray> arrays = find_number_arrays(text);
  if (arrays.empty()) return parse_outline(text, options.depth, {}, quotes);
  Outline rest = outline(text, arrays);
  std::vector<std::shared_ptr<NumberBlock>> blocks;
  std::vector<Placed> placed;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    std::shared_ptr<const void> owner = options.owner;
    if (owner == nullptr) {
      const auto copy = std::make_shared<const std::string>(arrays[i].text);
      arrays[i].text = *copy;
      owner = copy;
    }
    blocks.push_back(std::make_shared<NumberBlock>(std::move(arrays[i]), std::move(owner)));
    placed.push_back({rest.arrays[i], blocks[i]});
  }
  try {
    // 2. Parse all else, then read the arrays' elements.
    JsonValue root = parse_outline(rest.text, options.depth, placed, quotes);
    const DType dtype = stated_dtype(root, options.dtype);
    bool valid = true;
    for (const auto& block : blocks) valid = valid && block->read(dtype, options.threads);
    if (valid) return root;
  } catch (const Error&) {
    // An error of the outline: parse the whole text for its line and column.
  }
  return parse_outline(text, options.depth, {}, quotes);
}

}  // namespace

JsonValue parse_json(std::string_view text, const JsonOptions& options) {
  return parsed(text, options, false);
}

JsonValue parse_json_document(std::string_view text, const JsonOptions& options) {
  return parsed(text, options, true);
}

namespace {

constexpr std::string_view white_space = " \t\r\n";
constexpr const char* help_quotes =
    to_translate("strings and keys are written in straight double quotes");
constexpr const char* help_backslash = to_translate("write a backslash itself as \\\\");
constexpr const char* help_utf8 = to_translate("save the text as UTF-8");

// True for characters of a word without quotes: a literal, a number, a name.
bool is_word(char c) {
  const auto u = static_cast<unsigned char>(c);
  return std::isalnum(u) != 0 || u >= 0x80 || c == '_' || c == '+' || c == '-' || c == '.';
}

std::string place(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  std::string_view row = newline == std::string_view::npos ? before : before.substr(newline + 1);
  if (line == 1 && row.starts_with(byte_order_mark)) row.remove_prefix(byte_order_mark.size());
  const auto column =
      1 + std::count_if(row.begin(), row.end(), [](char c) { return !continues_character(c); });
  return translated("line {1}, column {2}", line, column);
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
    help = translated("{1} is not punctuation of JSON: write {2}", mark, instead);
  }
  return help;
}

// Literals as other languages write them.
bool is_literal(std::string_view small) {
  return small == "true" || small == "false" || small == "none";
}

std::string help_for_word(std::string_view word) {
  if (std::string help = help_for_punctuation(word); !help.empty()) return help;
  if (is_special_number(word)) {
    return translated("write NaN and infinities as the strings \"nan\", \"inf\" and \"-inf\"");
  }
  if (is_literal(lower_case(word))) {
    return translated("JSON writes true, false and null, in small letters");
  }
  if (word[0] == '+' || word[0] == '.') return translated("a number starts with a digit or '-'");
  if (word[0] == '0' && word.size() > 1 && is_json_digit(word[1]))
    return translated("a number has no leading zeros");
  if (is_json_digit(word[0]) || word[0] == '-') return "";
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
         "");
  }

  void read_string() {
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
    const std::string help = help_for_token();
    if (expected == Expected::end)
      refuse(translated("the end of the text"), translated("one text holds one value"));
    if (expected == Expected::key || expected == Expected::key_or_end) {
      refuse(translated("a key"), help.empty() ? translated(help_quotes) : help);
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

  std::string help_for_token() const {
    if (is_value_) return "";
    if (!word_.empty()) return help_for_word(word_);
    if (begin_ == text_.size()) {
      return translated("the text seems to be cut off: a bracket or a quote is not closed");
    }
    const char c = text_[begin_];
    const std::size_t before = text_.substr(0, begin_).find_last_not_of(white_space);
    if ((c == ']' || c == '}') && before != std::string_view::npos && text_[before] == ',') {
      return std::string(translated("remove the comma before '")) + c + "'";
    }
    if (c == '\'') return translated(help_quotes);
    if (c == '#' || c == '/') return translated("JSON has no comments");
    return "";
  }

  std::string_view text_;
  bool quotes_;
  std::size_t at_, begin_ = 0;  // offsets of the next token and of the last one
  std::string_view word_;       // last token if it is a word
  bool is_value_ = false;       // whether the last token is a whole value
  std::string open_;            // open brackets
};

void throw_syntax_error(std::string_view text, bool quotes) {
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    throw input_error(translated("not valid JSON: the text holds a zero byte"), place(text, zero),
                      translated(help_utf8));
  }
  const std::size_t start = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
  if (text.find_first_not_of(white_space, start) == std::string_view::npos) {
    throw input_error(translated("not valid JSON: the text is empty"), "", "");
  }
  Search(text, quotes).throw_first_fault();
}

}  // namespace

void throw_json_syntax_error(std::string_view text) {
  throw_syntax_error(text, false);
}

}  // namespace attn
