#include "io/json_syntax_error.hpp"

#include <string>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "io/json_value.hpp"

using namespace attn;

namespace {

struct Faulty {
  std::string text, error;
};

void check_errors(std::initializer_list<Faulty> texts) {
  for (const Faulty& one : texts) {
    CAPTURE(one.text);
    std::string found = "no error";
    try {
      parse_json(one.text);
    } catch (const Error& caught) {
      found = caught.what();
    }
    CHECK(found == "not valid JSON: " + one.error);
  }
}

constexpr const char* special_help =
    "\n  help:  write NaN and infinities as the strings \"nan\", \"inf\" and \"-inf\"";
constexpr const char* cut_off_help =
    "\n  help:  the text seems to be cut off: a bracket or a quote is not closed";
constexpr const char* quotes_help = "\n  help:  strings and keys stand in straight double quotes";

}  // namespace

TEST_CASE("a missing or surplus sign of punctuation is told with its place") {
  check_errors({
      {"[1 2]", "expected ',' or ']', found \"2\"\n  where: line 1, column 4"},
      {"{\"a\" 1}", "expected ':' after the key, found \"1\"\n  where: line 1, column 6"},
      {"{\"a\":1 \"b\":2}", "expected ',' or '}', found a string\n  where: line 1, column 8"},
      {"[\"ab\" \"cd\"]", "expected ',' or ']', found a string\n  where: line 1, column 7"},
      {"[1,]",
       "expected a value, found ']'\n  where: line 1, column 4\n"
       "  help:  remove the comma before ']'"},
      {"{\"a\":1,\n}",
       "expected a key, found '}'\n  where: line 2, column 1\n"
       "  help:  remove the comma before '}'"},
      {"{\"a\":}", "expected a value, found '}'\n  where: line 1, column 6"},
      {"]", "expected a value, found ']'\n  where: line 1, column 1"},
      {"[1, \x07]", "expected a value, found a control character\n  where: line 1, column 5"},
  });
}

TEST_CASE("lines count from 1, and columns are characters, not bytes") {
  check_errors({
      {"{\"é\": 1,\r\n \"größe\": [\"注意\" 3]}",
       "expected ',' or ']', found \"3\"\n  where: line 2, column 17"},
      {"\xEF\xBB\xBF[1 2]", "expected ',' or ']', found \"2\"\n  where: line 1, column 4"},
  });
}

TEST_CASE("a text that ends too early is told so") {
  check_errors({
      {"[1,2",
       std::string("expected ',' or ']', found the end of the text\n  where: line 1, column 5") +
           cut_off_help},
      {"[1,",
       std::string("expected a value, found the end of the text\n  where: line 1, column 4") +
           cut_off_help},
      {"{\"a\"",
       std::string(
           "expected ':' after the key, found the end of the text\n  where: line 1, column 5") +
           cut_off_help},
      {"{", std::string("expected a key, found the end of the text\n  where: line 1, column 2") +
                cut_off_help},
      {"", "the text is empty"},
      {" \r\n\t", "the text is empty"},
      {"\xEF\xBB\xBF", "the text is empty"},
  });
}

TEST_CASE("a text that goes on after its value is told so") {
  check_errors({
      {"[1]\n]",
       "expected the end of the text, found ']'\n  where: line 2, column 1\n"
       "  help:  one text holds one value"},
      {"{} {}",
       "expected the end of the text, found '{'\n  where: line 1, column 4\n"
       "  help:  one text holds one value"},
      {"1 x",
       "expected the end of the text, found \"x\"\n  where: line 1, column 3\n"
       "  help:  one text holds one value"},
  });
}

TEST_CASE("NaN and infinities as Python writes them get advice") {
  check_errors({
      {"[NaN]", std::string("\"NaN\" is no JSON value\n  where: line 1, column 2") + special_help},
      {"[1,-Infinity]",
       std::string("\"-Infinity\" is no JSON value\n  where: line 1, column 4") + special_help},
      {"{\"a\": Infinity}",
       std::string("\"Infinity\" is no JSON value\n  where: line 1, column 7") + special_help},
      {"[nan]", std::string("\"nan\" is no JSON value\n  where: line 1, column 2") + special_help},
      {"[inf]", std::string("\"inf\" is no JSON value\n  where: line 1, column 2") + special_help},
      {"[-inf", std::string("\"-inf\" is no JSON value\n  where: line 1, column 2") + special_help},
  });
}

TEST_CASE("bare words get advice") {
  check_errors({
      {"[True]",
       "\"True\" is no JSON value\n  where: line 1, column 2\n"
       "  help:  JSON writes true, false and null, in small letters"},
      {"[None]",
       "\"None\" is no JSON value\n  where: line 1, column 2\n"
       "  help:  JSON writes true, false and null, in small letters"},
      {"[truefalse]",
       std::string("\"truefalse\" is no JSON value\n  where: line 1, column 2") + quotes_help},
      {"[“a”]",
       "\"“a”\" is no JSON value\n  where: line 1, column 2\n"
       "  help:  “ is no punctuation of JSON: write \""},
      {"[1，2]",
       "\"1，2\" is no JSON value\n  where: line 1, column 2\n"
       "  help:  ， is no punctuation of JSON: write ,"},
      {"['a']",
       std::string("expected a value, found \"'\"\n  where: line 1, column 2") + quotes_help},
      {"{a: 1}",
       std::string("expected a key, found \"a\"\n  where: line 1, column 2") + quotes_help},
      {"{'a': 1}",
       std::string("expected a key, found \"'\"\n  where: line 1, column 2") + quotes_help},
      {"{1: 1}",
       std::string("expected a key, found \"1\"\n  where: line 1, column 2") + quotes_help},
      {"[1, # one",
       "expected a value, found '#'\n  where: line 1, column 5\n  help:  JSON has no comments"},
      {"// x\n[1]",
       "expected a value, found '/'\n  where: line 1, column 1\n  help:  JSON has no comments"},
  });
  const std::string long_word(100000, 'x');
  const std::string error = "\"" + std::string(40, 'x') + "…\" is no JSON value\n" +
                            "  where: line 1, column 2" + quotes_help;
  check_errors({{"[" + long_word + "]", error}});
}

TEST_CASE("numbers that are none get advice") {
  check_errors({
      {"[1.]", "\"1.\" has no digit after its point\n  where: line 1, column 2"},
      {"[1, -]", "\"-\" has no digit after '-'\n  where: line 1, column 5"},
      {"[1e]", "\"1e\" has no digit in its exponent\n  where: line 1, column 2"},
      {"[1e+]", "\"1e+\" has no digit in its exponent\n  where: line 1, column 2"},
      {"[01]",
       "\"01\" is no JSON value\n  where: line 1, column 2\n  help:  a number has no leading "
       "zeros"},
      {"[+1]",
       "\"+1\" is no JSON value\n  where: line 1, column 2\n"
       "  help:  a number starts with a digit or '-'"},
      {"[.5]",
       "\".5\" is no JSON value\n  where: line 1, column 2\n"
       "  help:  a number starts with a digit or '-'"},
      {"[1_000]", "\"1_000\" is no JSON value\n  where: line 1, column 2"},
      {"[0x10]", "\"0x10\" is no JSON value\n  where: line 1, column 2"},
  });
}

TEST_CASE("faults inside strings are told with their place") {
  check_errors({
      {"[\"abc",
       "a string has no closing quote\n  where: line 1, column 2\n"
       "  help:  add the closing quote"},
      {"[\"a\nb\"]",
       "a string runs over the end of its line\n  where: line 1, column 4\n"
       "  help:  close the string, or write the line break as \\n"},
      {"[\"a\tb\"]",
       "a string holds a control character\n  where: line 1, column 4\n"
       "  help:  write a tab as \\t and other control characters as \\u00XX"},
      {"[\"C:\\path\"]",
       "a string has a backslash before a character that takes none\n  where: line 1, column 6\n"
       "  help:  write a backslash itself as \\\\"},
      {"[\"\\u12\"]",
       "\\u in a string is not followed by 4 hexadecimal digits\n  where: line 1, column 7\n"
       "  help:  write a backslash itself as \\\\"},
      {"[\"\\ud800\"]",
       "a string holds half of a surrogate pair\n  where: line 1, column 3\n"
       "  help:  write \\ud800 to \\udbff and \\udc00 to \\udfff in pairs, or the character "
       "itself"},
  });
}

TEST_CASE("text that is not UTF-8 is told so") {
  check_errors({
      {"[\"é\xff\"]",
       "a string holds a byte that is not UTF-8\n  where: line 1, column 4\n"
       "  help:  save the text as UTF-8"},
      {"[\xe9]", "a byte is not UTF-8\n  where: line 1, column 2\n  help:  save the text as UTF-8"},
      {std::string("[1]\0[", 5),
       "the text holds a zero byte\n  where: line 1, column 4\n  help:  save the text as UTF-8"},
  });
}

TEST_CASE("half of a surrogate pair is told where its escape begins") {
  const std::string error =
      "a string holds half of a surrogate pair\n  where: line 1, column 4\n"
      "  help:  write \\ud800 to \\udbff and \\udc00 to \\udfff in pairs, or the character itself";
  check_errors({{R"(["a\udc00"])", error}, {R"(["a\ud800\u0041"])", error}});
  CHECK(parse_json(R"("\ud83d\ude42")").string() == "🙂");
}
