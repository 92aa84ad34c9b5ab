#include "io/json_value.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"

using namespace attn;

namespace {

double number_in(const char* text) {
  return parse_json(text).number();
}

}  // namespace

TEST_CASE("every kind of JSON value is read") {
  CHECK(parse_json("null").is(JsonValue::Type::null));
  CHECK(parse_json(" true ").boolean());
  CHECK_FALSE(parse_json("false").boolean());
  CHECK(parse_json("\"a\\n\\u00e9\\ud83d\\ude42\\\"\"").string() == "a\né🙂\"");
  CHECK(parse_json("[]").is(JsonValue::Type::array));
  CHECK(parse_json("{}").members().empty());
  CHECK(parse_json("\xEF\xBB\xBF{}").is(JsonValue::Type::object));
  CHECK(parse_json("\"\\u0000\"").string() == std::string(1, '\0'));
}

TEST_CASE("members keep the order of the text and are found by key") {
  const JsonValue value = parse_json(R"({"b": 1, "a": {"c": "x"}, "": null})");
  REQUIRE(value.size() == 3);
  CHECK(value.members()[0].key == "b");
  CHECK(value.members()[1].key == "a");
  REQUIRE(value.find("a") != nullptr);
  CHECK(value.find("a")->find("c")->string() == "x");
  CHECK(value.find("") != nullptr);
  CHECK(value.find("c") == nullptr);
  CHECK(parse_json("[1]").find("c") == nullptr);
}

TEST_CASE("an integer is told from a fraction, however it is written") {
  for (const char* text : {"3", "3.0", "3e0", "0.3e1", "300e-2"}) {
    CAPTURE(text);
    const JsonValue value = parse_json(text);
    CHECK(value.is_integer());
    CHECK(value.integer() == 3);
    CHECK(value.number() == 3);
  }
  CHECK_FALSE(parse_json("3.5").is_integer());
  CHECK_FALSE(parse_json("1e300").is_integer());
  CHECK_FALSE(parse_json("\"3\"").is_integer());
}

TEST_CASE("integers of 64 bits are exact, larger ones are doubles") {
  CHECK(parse_json("9007199254740993").integer() == 9007199254740993);
  CHECK(parse_json("9223372036854775807").integer() == std::numeric_limits<std::int64_t>::max());
  CHECK(parse_json("-9223372036854775808").integer() == std::numeric_limits<std::int64_t>::min());
  for (const char* text : {"9223372036854775808", "18446744073709551615", "18446744073709551616",
                           "-9223372036854775809"}) {
    CAPTURE(text);
    if (text[0] == '-') {
      // The nearest double is -2^63, an integer that fits.
      CHECK(parse_json(text).number() == -0x1p63);
    } else {
      CHECK_FALSE(parse_json(text).is_integer());
      CHECK(parse_json(text).number() >= 0x1p63);
    }
  }
}

TEST_CASE("doubles are read to the last bit") {
  CHECK(number_in("0.1") == 0.1);
  CHECK(number_in("5e-324") == 5e-324);
  CHECK(number_in("1.7976931348623157e308") == std::numeric_limits<double>::max());
  CHECK(number_in("2.2250738585072011e-308") == 2.2250738585072011e-308);
  CHECK(std::signbit(number_in("-0.0")));
  CHECK(number_in("1e-999") == 0);
}

TEST_CASE("the elements of an array are read one by one, blocks of numbers too") {
  for (const char* text : {"[1, 2.5, -3e2]", R"([1, 2.5, -3e2, "inf"])", "[1, 2.5, -3e2, null]"}) {
    CAPTURE(text);
    const JsonValue array = parse_json(text);
    CHECK(array.element(0).integer() == 1);
    CHECK(array.element(1).number() == 2.5);
    CHECK(array.element(2).integer() == -300);
  }
  CHECK(parse_json("[[1], [2]]").element(1).element(0).integer() == 2);
  CHECK(parse_json("[]").size() == 0);
}

TEST_CASE("integers that doubles do not hold are exact in arrays, in floats' clothes too") {
  const JsonValue value = parse_json("[1, 9007199254740993, 2.5, 1e18]");
  CHECK(value.element(1).integer() == 9007199254740993);
  CHECK(value.element(2).number() == 2.5);
  CHECK(value.element(3).integer() == 1000000000000000000);
  CHECK(parse_json("[1e18]").element(0).integer() == 1000000000000000000);
}

TEST_CASE("an integer beyond the range of a double is an error in an array, however long it is") {
  const std::string digits(310, '1');
  CHECK_THROWS_WITH_AS(
      parse_json(R"({"valid_lens": [1, )" + digits + "]}"),
      ("the number " + digits.substr(0, 199) + "… is beyond the range of a double\n" +
       "  where: /valid_lens/1\n"
       "  help:  infinities are written \"inf\" and \"-inf\"")
          .c_str(),
      Error);
  CHECK(parse_json("[1" + std::string(308, '0') + "]").element(0).number() == 1e308);
}

TEST_CASE("a value read as what it is not is a bug, not an error of the user's") {
  const JsonValue text = parse_json("\"x\"");
  CHECK_THROWS_WITH_AS(text.integer(), "a string in JSON was read as an integer", Error);
  CHECK_THROWS_WITH_AS(text.boolean(), "a string in JSON was read as a boolean", Error);
  CHECK_THROWS_WITH_AS(text.size(), "a string in JSON was read as an array", Error);
  CHECK_THROWS_WITH_AS(text.element(0), "a string in JSON was read as an array", Error);
  CHECK_THROWS_WITH_AS(text.members(), "a string in JSON was read as an object", Error);
  CHECK_THROWS_WITH_AS(parse_json("[1]").string(), "an array in JSON was read as a string", Error);
  CHECK(error_from([&] { text.number(); }, ErrorKind::internal) ==
        "a string in JSON was read as a number");
}

TEST_CASE("a key given twice is an error at its pointer") {
  CHECK_THROWS_WITH_AS(parse_json(R"({"query": [1], "key": 2, "query": [3]})"),
                       "the key \"query\" is given twice\n"
                       "  where: /query\n"
                       "  help:  remove one of the two",
                       Error);
  CHECK_THROWS_WITH_AS(parse_json(R"([0, {"x": {"a/b~": 1, "z": 2, "a/b~": 1, "z": 2}}])"),
                       "the key \"a/b~\" is given twice\n"
                       "  where: /1/x/a~1b~0\n"
                       "  help:  remove one of the two",
                       Error);
  CHECK_THROWS_WITH_AS(parse_json(R"({"z": 1, "a": 1, "z": 2, "a": 2})"),
                       "the key \"z\" is given twice\n"
                       "  where: /z\n"
                       "  help:  remove one of the two",
                       Error);
  CHECK(parse_json(R"({"a": {"a": 1}, "b": {"a": 1}})").size() == 2);
}

TEST_CASE("many keys are compared quickly") {
  std::string text = "{";
  for (int i = 0; i < 200000; ++i) text += "\"key " + std::to_string(i) + "\":1,";
  CHECK(parse_json(text + "\"last\":1}").size() == 200001);
  CHECK_THROWS_AS(parse_json(text + "\"key 77\":1}"), Error);
}

TEST_CASE("a number beyond the range of a double is an error at its pointer") {
  CHECK_THROWS_WITH_AS(parse_json(R"({"query": [[1, 2], [3, 1e999]]})"),
                       "the number 1e999 is beyond the range of a double\n"
                       "  where: /query/1/1\n"
                       "  help:  infinities are written \"inf\" and \"-inf\"",
                       Error);
  CHECK_THROWS_WITH_AS(parse_json("-1e309"),
                       "the number -1e309 is beyond the range of a double\n"
                       "  help:  infinities are written \"inf\" and \"-inf\"",
                       Error);
  CHECK_THROWS_WITH_AS(parse_json(R"([[], {}, "x", 1e400])"),
                       "the number 1e400 is beyond the range of a double\n"
                       "  where: /3\n"
                       "  help:  infinities are written \"inf\" and \"-inf\"",
                       Error);
}

TEST_CASE("nesting goes as deep as the limit and no deeper") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  CHECK_NOTHROW(parse_json(nested(512)));
  CHECK_THROWS_WITH_AS(
      parse_json(nested(513)),
      "arrays and objects are nested deeper than 512 levels\n"
      "  where: /0/0/0/0/0/0/0/0/…\n"
      "  help:  look for brackets that are not closed, or raise the limit with Limits::nesting",
      Error);
  CHECK_NOTHROW(parse_json("[{\"a\":1}]", {.depth = 2}));
  CHECK_THROWS_WITH_AS(
      parse_json("[{\"a\":[]}]", {.depth = 2}),
      "arrays and objects are nested deeper than 2 levels\n"
      "  where: /0/a\n"
      "  help:  look for brackets that are not closed, or raise the limit with Limits::nesting",
      Error);
}

TEST_CASE("a hundred thousand brackets are refused, not a crash") {
  CHECK_THROWS_AS(parse_json(std::string(100000, '[')), Error);
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  CHECK_THROWS_AS(parse_json(objects), Error);
}

TEST_CASE("pointers escape what RFC 6901 says") {
  CHECK(pointer_to("", "a") == "/a");
  CHECK(pointer_to("/a", "m~n/o") == "/a/m~0n~1o");
  CHECK(pointer_to("/a", "") == "/a/");
  CHECK(pointer_to("/a", std::size_t{12}) == "/a/12");
}

TEST_CASE("kinds of values have names") {
  CHECK(type_text(parse_json("null")) == "null");
  CHECK(type_text(parse_json("true")) == "true");
  CHECK(type_text(parse_json("false")) == "false");
  CHECK(type_text(parse_json("1")) == "a number");
  CHECK(type_text(parse_json("\"\"")) == "a string");
  CHECK(type_text(parse_json("[1]")) == "an array");
  CHECK(type_text(parse_json("[{}]")) == "an array");
  CHECK(type_text(parse_json("{}")) == "an object");
}

namespace {

constexpr JsonObject::Texts texts{.missing = to_translate("\"{1}\" is missing"),
                                  .missing_help = "write the file again",
                                  .type_help = "take another file"};

template <class Read>
Error error_of(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error was thrown");
  throw std::logic_error("unreachable");
}

TEST_CASE("Members of an object are read with their types") {
  const JsonValue value = parse_json(
      R"({"name":"a","on":true,"width":2.5,"heads":8,"list":["x","y"],"inner":{"depth":3}})");
  const JsonObject object(value, "/model", texts);
  CHECK(object.string("name") == "a");
  CHECK(object.boolean("on"));
  CHECK(object.number("width") == 2.5);
  CHECK(object.count("heads", 1) == 8);
  CHECK(object.array("list").size() == 2);
  CHECK(object.object("inner").count("depth") == 3);
  CHECK(object.object("inner").place("depth") == "/model/inner/depth");
  std::string all;
  object.each("list", [&](const JsonValue& element, const std::string& place) {
    all += place + "=" + element.string() + " ";
  });
  CHECK(all == "/model/list/0=x /model/list/1=y ");
  CHECK(object.optional_string("name") == "a");
  CHECK(object.optional_count("heads") == 8);
  CHECK_FALSE(object.optional_string("depth"));
  CHECK_FALSE(object.optional_count("layers"));
}

TEST_CASE("An absent member is named with its place and help") {
  const JsonValue value = parse_json(R"({"heads":null})");
  const Error error = error_of([&] { JsonObject(value, "/model", texts).number("width"); });
  CHECK(error.kind() == ErrorKind::input);
  CHECK(error.problem() == "\"width\" is missing");
  CHECK(error.where() == "/model/width");
  CHECK(error.help() == "write the file again");

  JsonObject::Texts in_object = texts;
  in_object.missing_in_object = true;
  CHECK(error_of([&] { JsonObject(value, "/model", in_object).number("width"); }).where() ==
        "/model");

  JsonObject::Texts without_null = texts;
  without_null.null_is_absent = true;
  CHECK(JsonObject(value, "", texts).find("heads") != nullptr);
  CHECK_FALSE(JsonObject(value, "", without_null).optional_count("heads"));
  CHECK(error_of([] {
          const JsonValue no_object;
          JsonObject(no_object, "", texts).string("name");
        }).problem() == "\"name\" is missing");
}

TEST_CASE("A member of another type is named with the type that was expected") {
  const JsonValue value = parse_json(R"({"heads":"many","width":-1,"names":{}})");
  const JsonObject object(value, "", texts);
  const Error error = error_of([&] { object.optional_count("heads"); });
  CHECK(error.problem() == "expected a number, found a string");
  CHECK(error.where() == "/heads");
  CHECK(error.help() == "take another file");
  CHECK(error_of([&] { object.count("width", 1); }).problem() ==
        "expected a whole number of at least 1, found -1");
  CHECK(error_of([&] { object.array("names"); }).problem() == "expected an array, found an object");
  CHECK(error_of([&] { expect_array(value, "/x"); }).help() == "give an array");
}

}  // namespace

namespace {

struct Faulty {
  std::string text, error;
};

void check_errors(std::initializer_list<Faulty> all) {
  for (const Faulty& one : all) {
    CAPTURE(one.text);
    CHECK(error_from([&] { parse_json_document(one.text); }) == "not valid JSON: " + one.error);
  }
}

const std::string empty_help =
    "\n  help:  check that the file was saved, or that a program wrote to it";
const std::string whole_help = "\n  help:  write the whole number, such as 1.0 or 1e5";
const std::string digits_help =
    "\n  help:  numbers have digits, a point and an exponent only, such as 1000 or 2.5e-3";
constexpr const char* special_help =
    "\n  help:  write NaN and infinities as the strings \"nan\", \"inf\" and \"-inf\"";
constexpr const char* cut_off_help =
    "\n  help:  the text seems to be cut off: a bracket or a quote is not closed";
constexpr const char* quotes_help =
    "\n  help:  strings and keys are written in straight double quotes";
constexpr const char* shell_help =
    "\n  help:  strings and keys are written in straight double quotes, which a shell takes away "
    "unless the whole text stands in single quotes";

}  // namespace

TEST_CASE("a missing or surplus sign of punctuation is told with its place") {
  check_errors({
      {"[1 2]",
       "expected ',' or ']', found \"2\"\n  where: line 1, column 4\n  help:  add a comma before "
       "it"},
      {"{\"a\" 1}", "expected ':' after the key, found \"1\"\n  where: line 1, column 6"},
      {"{\"a\":1 \"b\":2}",
       "expected ',' or '}', found a string\n  where: line 1, column 8\n  help:  add a comma "
       "before it"},
      {"[\"ab\" \"cd\"]",
       "expected ',' or ']', found a string\n  where: line 1, column 7\n  help:  add a comma "
       "before it"},
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
       "expected ',' or ']', found \"3\"\n  where: line 2, column 17\n  help:  add a comma before "
       "it"},
      {"\xEF\xBB\xBF[1 2]",
       "expected ',' or ']', found \"2\"\n  where: line 1, column 4\n  help:  add a comma before "
       "it"},
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
      {"", "the text is empty" + empty_help},
      {" \r\n\t", "the text is empty" + empty_help},
      {"\xEF\xBB\xBF", "the text is empty" + empty_help},
  });
}

TEST_CASE("a text that goes on after its value is told so") {
  check_errors({
      {"[1]\n]",
       "expected the end of the text, found ']'\n  where: line 2, column 1\n"
       "  help:  remove it, or add the bracket that it closes"},
      {"{} {}",
       "expected the end of the text, found '{'\n  where: line 1, column 4\n"
       "  help:  give one document at a time, or one per line of a .jsonl file to attn-cli batch"},
      {"\"a\": 1",
       "expected the end of the text, found ':'\n  where: line 1, column 4\n"
       "  help:  put { before the first key and } after the last value"},
      {"{[1,0],[0,1]}",
       "expected a key, found '['\n  where: line 1, column 2\n"
       "  help:  rows of numbers stand in [ ]; { } is for members with names"},
      {"{\"a\": [[1,0],[0,1]}, \"b\": 1}",
       "expected ',' or ']', found '}'\n  where: line 1, column 19\n"
       "  help:  write ']' before it or in its place: the bracket at line 1, column 7 is open"},
      {"{\"a\": [[1,0]]], \"b\": 1}",
       "expected ',' or '}', found ']'\n  where: line 1, column 14\n"
       "  help:  remove it, or write '}' in its place"},
      {"1 x",
       "expected the end of the text, found a word\n  where: line 1, column 3\n"
       "  help:  one text holds one value"},
  });
}

TEST_CASE("quotes of Python and fences of Markdown get advice") {
  const std::string fence =
      "  help:  leave out the lines of ```, which are Markdown's, and write JSON alone";
  check_errors({
      {"{\"a\": \"\"\"b\"\"\"}",
       "a string stands in three quotes\n  where: line 1, column 7\n"
       "  help:  write one quote on each side, and each line break as \\n"},
      {"[`a`]",
       std::string("expected a value, found '`'\n  where: line 1, column 2") + quotes_help},
      {"```json\n{}\n```", "expected a value, found '`'\n  where: line 1, column 1\n" + fence},
      {"{}\n```", "expected the end of the text, found '`'\n  where: line 2, column 1\n" + fence},
  });
}

TEST_CASE("NaN and infinities as Python writes them get advice") {
  check_errors({
      {"[float(\"-inf\")]",
       std::string("\"float\" is not a JSON value\n  where: line 1, column 2") + special_help},
      {"[NaN]",
       std::string("\"NaN\" is not a JSON value\n  where: line 1, column 2") + special_help},
      {"[1,-Infinity]",
       std::string("\"-Infinity\" is not a JSON value\n  where: line 1, column 4") + special_help},
      {"{\"a\": Infinity}",
       std::string("\"Infinity\" is not a JSON value\n  where: line 1, column 7") + special_help},
      {"[nan]",
       std::string("\"nan\" is not a JSON value\n  where: line 1, column 2") + special_help},
      {"[inf]",
       std::string("\"inf\" is not a JSON value\n  where: line 1, column 2") + special_help},
      {"[-inf",
       std::string("\"-inf\" is not a JSON value\n  where: line 1, column 2") + special_help},
  });
}

TEST_CASE("bare words get advice") {
  check_errors({
      {"[True]",
       "\"True\" is not a JSON value\n  where: line 1, column 2\n"
       "  help:  JSON writes true, false and null, in small letters"},
      {"[None]",
       "\"None\" is not a JSON value\n  where: line 1, column 2\n"
       "  help:  leave the key out: what is absent is not written"},
      {"[sqrt(2)]",
       "\"sqrt\" is not a JSON value\n  where: line 1, column 2\n"
       "  help:  write the number itself, such as 1.4142: JSON computes nothing"},
      {"[[1], ...]",
       "\"...\" is not a JSON value\n  where: line 1, column 7\n"
       "  help:  write all rows and numbers: nothing stands for those between"},
      {"{\"query\": torch.randn(2, 3)}",
       "\"torch.randn\" is not a JSON value\n  where: line 1, column 11\n"
       "  help:  write {\"randn\": [2,3]}, and one \"seed\" at the top of the document"},
      {"[truefalse]",
       std::string("\"truefalse\" is not a JSON value\n  where: line 1, column 2") + quotes_help},
      {"[“a”]",
       "\"“a”\" is not a JSON value\n  where: line 1, column 2\n"
       "  help:  “ is not punctuation of JSON: write the straight quote \""},
      {"[1，2]",
       "\"1，2\" is not a JSON value\n  where: line 1, column 2\n"
       "  help:  ， is not punctuation of JSON: write ,"},
      {"['a']",
       std::string("expected a value, found \"'\"\n  where: line 1, column 2") + quotes_help},
      {"{a: 1}",
       std::string("expected a key, found \"a\"\n  where: line 1, column 2") + shell_help},
      {"{'a': 1}",
       std::string("expected a key, found \"'\"\n  where: line 1, column 2") + quotes_help},
      {"{1: 1}",
       std::string("expected a key, found \"1\"\n  where: line 1, column 2") + shell_help},
      {"[1, # one",
       "expected a value, found '#'\n  where: line 1, column 5\n  help:  JSON has no comments"},
      {"// x\n[1]",
       "expected a value, found '/'\n  where: line 1, column 1\n  help:  JSON has no comments"},
  });
  const std::string long_word(100000, 'x');
  const std::string error = "\"" + std::string(40, 'x') + "…\" is not a JSON value\n" +
                            "  where: line 1, column 2" + quotes_help;
  check_errors({{"[" + long_word + "]", error}});
}

TEST_CASE("numbers that are none get advice") {
  check_errors({
      {"[1.]", "\"1.\" has no digit after its point\n  where: line 1, column 2" + whole_help},
      {"[1, -]", "\"-\" has no digit after '-'\n  where: line 1, column 5" + whole_help},
      {"[1e]", "\"1e\" has no digit in its exponent\n  where: line 1, column 2" + whole_help},
      {"[1e+]", "\"1e+\" has no digit in its exponent\n  where: line 1, column 2" + whole_help},
      {"[01]",
       "\"01\" is not a JSON value\n  where: line 1, column 2\n  help:  a number has no leading "
       "zeros"},
      {"[+1]",
       "\"+1\" is not a JSON value\n  where: line 1, column 2\n"
       "  help:  a number starts with a digit or '-'"},
      {"[.5]",
       "\".5\" is not a JSON value\n  where: line 1, column 2\n"
       "  help:  a number starts with a digit or '-'"},
      {"[1_000]", "\"1_000\" is not a JSON value\n  where: line 1, column 2" + digits_help},
      {"[0x10]", "\"0x10\" is not a JSON value\n  where: line 1, column 2" + digits_help},
  });
}

TEST_CASE("brackets, commas and fractions of other languages get advice") {
  check_errors({
      {"[1 2]",
       "expected ',' or ']', found \"2\"\n  where: line 1, column 4\n"
       "  help:  add a comma before it"},
      {"{\"a\": 1 \"b\": 2}",
       "expected ',' or '}', found a string\n  where: line 1, column 9\n"
       "  help:  add a comma before it"},
      {"[[1][2]]",
       "expected ',' or ']', found '['\n  where: line 1, column 5\n"
       "  help:  add a comma before it"},
      {"((1,0))",
       "expected a value, found '('\n  where: line 1, column 1\n"
       "  help:  arrays have square brackets, [ and ]"},
      {"[1/2]",
       "expected ',' or ']', found '/'\n  where: line 1, column 3\n"
       "  help:  write a fraction as a decimal number, such as 0.5"},
      {"{\"a\"=1}",
       "expected ':' after the key, found '='\n  where: line 1, column 5\n  help:  write ':'"},
      {"[1;2]", "expected ',' or ']', found ';'\n  where: line 1, column 3\n  help:  write ','"},
      {"{“a”: 1}",
       "expected a key, found \"“a”\"\n  where: line 1, column 2\n"
       "  help:  “ is not punctuation of JSON: write the straight quote \""},
      {"[2*3]",
       "expected ',' or ']', found '*'\n  where: line 1, column 3\n"
       "  help:  write the number itself, such as 1.4142: JSON computes nothing"},
  });
}

TEST_CASE("faults inside strings are told with their place") {
  check_errors({
      {"[\"abc",
       "a string has no closing quote\n  where: line 1, column 2\n"
       "  help:  add the closing quote"},
      {"[\"a\nb\"]",
       "a string continues past the end of its line\n  where: line 1, column 4\n"
       "  help:  close the string, or write the line break as \\n"},
      {"[\"a\tb\"]",
       "a string holds a control character\n  where: line 1, column 4\n"
       "  help:  write a tab as \\t and other control characters as \\u00XX"},
      {"[\"C:\\path\"]",
       "a string has a backslash before a character that cannot be escaped\n  where: line 1, "
       "column 6\n"
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

TEST_CASE("a syntax error quotes no word and no number of a file that somebody else may own") {
  const auto found = [](const std::string& text) {
    return error_from([&] { parse_json(text); }).substr(0, 70);
  };
  CHECK(found("[root:x:0]").starts_with("not valid JSON: a word is not a JSON value\n"));
  CHECK(found("{hunter2: 1}").starts_with("not valid JSON: expected a key, found a word\n"));
  CHECK(found("[1.x]").starts_with("not valid JSON: a number has no digit after its point\n"));
  CHECK(found("[NaN]").starts_with("not valid JSON: \"NaN\" is not a JSON value\n"));
  CHECK(found("[None]").starts_with("not valid JSON: \"None\" is not a JSON value\n"));
}

TEST_CASE("a text whose values take many times its memory is refused before they are made") {
  std::string deep;
  for (int i = 0; i < 5000; ++i) {
    deep += (i == 0 ? "" : ",") + std::string(500, '[') + "\"\"" + std::string(500, ']');
  }
  CHECK(error_from([&] { parse_json("[" + deep + "]"); }) ==
        "the values of the JSON text take 160080064 bytes of memory, and the limit for its 5015001 "
        "bytes is 120000000\n"
        "  help:  give numbers in arrays with rows of one length, and many texts in several "
        "documents of a batch");
}
