#include "io/json_syntax_error.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "support/in_quotes.hpp"

namespace attn {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
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
  const std::size_t line =
      1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t newline = before.rfind('\n');
  std::string_view row = newline == std::string_view::npos ? before : before.substr(newline + 1);
  if (line == 1 && row.starts_with(byte_order_mark)) row.remove_prefix(byte_order_mark.size());
  const auto column =
      1 + std::count_if(row.begin(), row.end(), [](char c) { return !is_continuation(c); });
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// The bare word that holds the byte at `offset`; empty if that byte is in none.
std::pair<std::size_t, std::string_view> word_at(std::string_view text, std::size_t offset) {
  std::size_t begin = std::min(offset, text.size());
  // A word that the parser gave up on may end just before the byte it stopped at.
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  std::size_t end = begin;
  while (end < text.size() && is_word(text[end])) ++end;
  return {begin, text.substr(begin, end - begin)};
}

// At most `most` characters of a token, for a message.
std::string shown(std::string_view token) {
  constexpr std::size_t most = 40;
  if (token.size() <= most) return std::string(token);
  std::size_t end = most;
  while (end > 0 && is_continuation(token[end])) --end;
  return std::string(token.substr(0, end)) + "…";
}

struct Found {
  std::size_t offset;
  std::string text;  // as it stands in the message
  std::string_view word;
};

// What stands where the parser stopped.
Found found_at(std::string_view text, std::size_t last, std::string_view last_token,
               std::string_view complaint) {
  if (contains(complaint, "unexpected string literal") && last_token.size() <= last + 1) {
    const std::size_t begin = last + 1 - last_token.size();
    return {begin, "the string " + shown(last_token), {}};
  }
  if (last >= text.size()) {
    const auto [begin, word] = word_at(text, text.size());
    if (!word.empty() && contains(complaint, "invalid")) {
      return {begin, in_quotes(shown(word)), word};
    }
    return {text.size(), "the end of the text", {}};
  }
  const auto [begin, word] = word_at(text, last);
  if (!word.empty()) return {begin, in_quotes(shown(word)), word};
  const char c = text[last];
  if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return {last, "a control character", {}};
  return {last, c == '"' ? std::string("a string") : std::string({'\'', c, '\''}), {}};
}

std::string lowered(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// The last byte before `offset` that is no white space; zero if there is none.
char before(std::string_view text, std::size_t offset) {
  const std::size_t last = text.substr(0, offset).find_last_not_of(" \t\r\n");
  return last == std::string_view::npos ? '\0' : text[last];
}

std::string help_for(std::string_view text, const Found& found) {
  const std::string word = lowered(found.word);
  for (const std::string_view special : {"nan", "inf", "infinity"}) {
    if (word == special || (word.ends_with(special) && word.size() == special.size() + 1 &&
                            (word[0] == '-' || word[0] == '+'))) {
      return R"(write NaN and infinities as the strings "nan", "inf" and "-inf")";
    }
  }
  if (word == "true" || word == "false" || word == "none" || word == "null") {
    return "JSON writes true, false and null, in small letters";
  }
  if (found.offset >= text.size()) {
    return "the text seems to be cut off: a bracket or a quote is not closed";
  }
  const char c = text[found.offset];
  if ((c == ']' || c == '}') && before(text, found.offset) == ',') {
    return std::string("remove the comma before '") + c + "'";
  }
  if (c == '\'') return "strings and keys take double quotes";
  if (c == '#' || c == '/') return "JSON has no comments";
  if (c == '+' || c == '.') return "a number starts with a digit or '-'";
  if (!found.word.empty() && found.offset > 0 && text[found.offset] == '0' &&
      found.word.size() > 1 && std::isdigit(static_cast<unsigned char>(found.word[1])) != 0) {
    return "a number has no leading zeros";
  }
  if (!found.word.empty() && std::isdigit(static_cast<unsigned char>(c)) == 0 && c != '-') {
    return "strings and keys take double quotes";
  }
  return "";
}

// The complaints about the inside of a string or a number, and what to do about each.
struct Plain {
  std::string_view complaint, problem, help;
};
constexpr std::array<Plain, 12> plain_words = {{
    {"ill-formed UTF-8 byte", "a string holds a byte that is not UTF-8", "save the text as UTF-8"},
    {"missing closing quote", "a string has no closing quote", ""},
    {"must be followed by 4 hex digits", "\\u in a string is not followed by 4 hexadecimal digits",
     "write a backslash itself as \\\\"},
    {"surrogate U+D800..U+DBFF must be", "a string holds half of a surrogate pair",
     "write \\ud800 to \\udbff and \\udc00 to \\udfff in pairs, or the character itself"},
    {"surrogate U+DC00..U+DFFF must", "a string holds half of a surrogate pair",
     "write \\ud800 to \\udbff and \\udc00 to \\udfff in pairs, or the character itself"},
    {"forbidden character after backslash",
     "a string has a backslash before a character that takes none",
     "write a backslash itself as \\\\"},
    {"U+000A (LF)", "a string runs over the end of its line",
     "close the string, or write the line break as \\n"},
    {"control character", "a string holds a control character",
     "write a tab as \\t and other control characters as \\u00XX"},
    {"expected digit after '-'", "a number has no digit after '-'", ""},
    {"expected digit after '.'", "a number has no digit after its point", ""},
    {"exponent", "a number has no digit in its exponent", ""},
    {"invalid BOM", "the byte order mark is broken", "save the text as UTF-8"},
}};

std::string expected(std::string_view complaint) {
  if (contains(complaint, "expected end of input")) return "the end of the text";
  if (contains(complaint, "parsing object key")) return "a key in double quotes";
  if (contains(complaint, "parsing object separator")) return "':' after the key";
  if (contains(complaint, "parsing array")) return "',' or ']'";
  if (contains(complaint, "parsing object")) return "',' or '}'";
  return "a value";
}

Error syntax_error(std::string problem, std::string where, std::string help) {
  return input_error("not valid JSON: " + std::move(problem), std::move(where), std::move(help));
}

}  // namespace

Error json_syntax_error(std::string_view text, std::size_t bytes_read, std::string_view last_token,
                        std::string_view complaint) {
  if (text.find_first_not_of(" \t\r\n", text.starts_with(byte_order_mark) ? 3 : 0) ==
      std::string_view::npos) {
    return syntax_error("the text is empty", "", "");
  }
  const std::size_t last = bytes_read > 0 ? bytes_read - 1 : 0;
  const Found found = found_at(text, last, last_token, complaint);
  std::string help = help_for(text, found);
  if (!contains(complaint, "unexpected")) {
    for (const Plain& plain : plain_words) {
      if (!contains(complaint, plain.complaint)) continue;
      const bool number = plain.problem.starts_with("a number");
      if (help.empty()) help = plain.help;
      if (!number && !plain.help.empty()) help = plain.help;
      std::size_t offset = number ? found.offset : std::min(last, text.size());
      if (plain.complaint == "missing closing quote" && last_token.size() <= offset) {
        offset -= last_token.size();
      }
      return syntax_error(std::string(plain.problem), place(text, offset), std::move(help));
    }
  }
  return syntax_error("expected " + expected(complaint) + ", found " + found.text,
                      place(text, found.offset), std::move(help));
}

Error json_zero_byte_error(std::string_view text, std::size_t offset) {
  return syntax_error("the text holds a zero byte", place(text, offset), "save the text as UTF-8");
}

}  // namespace attn
