#include "io/json_syntax_error.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>
#include <utility>

#include "support/in_quotes.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::string_view white_space = " \t\r\n";
constexpr const char* help_quotes = "strings and keys stand in straight double quotes";
constexpr const char* help_utf8 = "save the text as UTF-8";

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// A character that can be part of a bare word: a literal, a number, a name without quotes.
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
      1 + std::count_if(row.begin(), row.end(), [](char c) { return !is_continuation(c); });
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// In quotes and not too long, for a message.
std::string shown(std::string_view token) {
  constexpr std::size_t most = 40;
  if (token.size() <= most) return in_quotes(token);
  std::size_t end = most;
  while (end > 0 && is_continuation(token[end])) --end;
  return in_quotes(std::string(token.substr(0, end)) + "…");
}

// What stands where the parser stopped: a bare word, a string, one character, or nothing but the
// end.
struct Found {
  std::size_t offset;
  std::string_view word;
  std::string text;  // as a message names it
};

Found found_at(std::string_view text, std::size_t last, std::string_view last_token,
               std::string_view complaint) {
  if (contains(complaint, "unexpected string literal") && last_token.size() <= last + 1) {
    return {last + 1 - last_token.size(), {}, "a string"};
  }
  // A word that the parser gave up on may end just before the byte it stopped at.
  std::size_t begin = std::min(last, text.size());
  if (contains(complaint, "invalid") || (begin < text.size() && is_word(text[begin]))) {
    while (begin > 0 && is_word(text[begin - 1])) --begin;
  }
  std::size_t end = begin;
  while (end < text.size() && is_word(text[end])) ++end;
  const std::string_view word = text.substr(begin, end - begin);
  if (!word.empty()) return {begin, word, shown(word)};
  if (begin >= text.size()) return {begin, {}, "the end of the text"};
  const char c = text[begin];
  if (c == '\'') return {begin, {}, in_quotes("'")};
  if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return {begin, {}, "a control character"};
  return {begin, {}, std::string({'\'', c, '\''})};
}

// Whether the parser would take the word for a value, could it stand here.
bool is_value(std::string_view word) {
  if (word == "true" || word == "false" || word == "null") return true;
  const std::string_view digits = word.starts_with('-') ? word.substr(1) : word;
  if (digits.empty() || !is_digit(digits[0])) return false;
  if (digits[0] == '0' && digits.size() > 1 && is_digit(digits[1])) return false;
  double ignored = 0;
  return std::from_chars(word.data(), word.data() + word.size(), ignored).ptr ==
         word.data() + word.size();
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string help_for_word(std::string_view word) {
  std::string small(word);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::string_view unsigned_word =
      std::string_view(small).substr(small.starts_with('-') || small.starts_with('+') ? 1 : 0);
  if (unsigned_word == "nan" || unsigned_word == "inf" || unsigned_word == "infinity") {
    return R"(write NaN and infinities as the strings "nan", "inf" and "-inf")";
  }
  if (small == "true" || small == "false" || small == "none") {
    return "JSON writes true, false and null, in small letters";
  }
  if (word[0] == '+' || word[0] == '.') return "a number starts with a digit or '-'";
  if (word[0] == '0' && word.size() > 1 && is_digit(word[1]))
    return "a number has no leading zeros";
  if (is_digit(word[0]) || word[0] == '-') return "";
  return help_quotes;
}

std::string help_for(std::string_view text, const Found& found) {
  if (!found.word.empty()) return is_value(found.word) ? "" : help_for_word(found.word);
  if (found.offset >= text.size()) {
    return "the text seems to be cut off: a bracket or a quote is not closed";
  }
  const char c = text[found.offset];
  const std::size_t before = text.substr(0, found.offset).find_last_not_of(white_space);
  if ((c == ']' || c == '}') && before != std::string_view::npos && text[before] == ',') {
    return std::string("remove the comma before '") + c + "'";
  }
  if (c == '\'') return help_quotes;
  if (c == '#' || c == '/') return "JSON has no comments";
  return "";
}

// Complaints about the inside of a string, in the order in which they are looked for.
struct StringComplaint {
  std::string_view complaint, problem, help;
};
constexpr std::array<StringComplaint, 7> string_complaints = {{
    {"ill-formed UTF-8", "a string holds a byte that is not UTF-8", help_utf8},
    {"missing closing quote", "a string has no closing quote", "add the closing quote"},
    {"followed by 4 hex digits", "\\u in a string is not followed by 4 hexadecimal digits",
     "write a backslash itself as \\\\"},
    {"surrogate", "a string holds half of a surrogate pair",
     "write \\ud800 to \\udbff and \\udc00 to \\udfff in pairs, or the character itself"},
    {"after backslash", "a string has a backslash before a character that takes none",
     "write a backslash itself as \\\\"},
    {"U+000A", "a string runs over the end of its line",
     "close the string, or write the line break as \\n"},
    {"control character", "a string holds a control character",
     "write a tab as \\t and other control characters as \\u00XX"},
}};

// What the end of the complaint says of a broken number.
struct NumberComplaint {
  std::string_view complaint, problem;
};
constexpr std::array<NumberComplaint, 3> number_complaints = {{
    {"digit after '-'", " has no digit after '-'"},
    {"digit after '.'", " has no digit after its point"},
    {"exponent", " has no digit in its exponent"},
}};

Error syntax_error(const std::string& problem, std::string where, std::string help) {
  return input_error("not valid JSON: " + problem, std::move(where), std::move(help));
}

}  // namespace

Error json_syntax_error(std::string_view text, std::size_t bytes_read, std::string_view last_token,
                        std::string_view complaint) {
  const std::size_t start = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
  if (text.find_first_not_of(white_space, start) == std::string_view::npos) {
    return syntax_error("the text is empty", "", "");
  }
  const std::size_t last = std::min(bytes_read > 0 ? bytes_read - 1 : 0, text.size());
  if (contains(complaint, "invalid string")) {
    for (const auto& [part, problem, help] : string_complaints) {
      if (!contains(complaint, part)) continue;
      // A quote that is missing at the end of the text is missed where the string begins.
      const bool unclosed = part == "missing closing quote" && last_token.size() <= last;
      return syntax_error(std::string(problem),
                          place(text, unclosed ? last - last_token.size() : last),
                          std::string(help));
    }
  }
  const Found found = found_at(text, last, last_token, complaint);
  const std::string where = place(text, found.offset);
  if (!is_utf8(found.word)) return syntax_error("a byte is not UTF-8", where, help_utf8);
  const bool special = contains(help_for_word(found.word.empty() ? "0" : found.word), "NaN");
  if (contains(complaint, "invalid number") && !special) {
    for (const auto& [part, problem] : number_complaints) {
      if (contains(complaint, part)) {
        return syntax_error(found.text + std::string(problem), where, "");
      }
    }
  }
  std::string expected = "a value";
  if (contains(complaint, "; expected end of input")) {
    return syntax_error("expected the end of the text, found " + found.text, where,
                        "one text holds one value");
  }
  if (contains(complaint, "parsing object key")) {
    std::string help = help_for(text, found);
    return syntax_error("expected a key, found " + found.text, where,
                        help.empty() ? help_quotes : std::move(help));
  }
  if (contains(complaint, "parsing object separator")) {
    expected = "':' after the key";
  } else if (contains(complaint, "parsing array")) {
    expected = "',' or ']'";
  } else if (contains(complaint, "parsing object")) {
    expected = "',' or '}'";
  }
  std::string help = help_for(text, found);
  if (!found.word.empty() && !is_value(found.word)) {
    return syntax_error(found.text + " is no JSON value", where, std::move(help));
  }
  return syntax_error("expected " + expected + ", found " + found.text, where, std::move(help));
}

Error json_zero_byte_error(std::string_view text, std::size_t offset) {
  return syntax_error("the text holds a zero byte", place(text, offset), help_utf8);
}

}  // namespace attn
