#include "io/json_value.hpp"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "attn/error.hpp"

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
      // As a double it is -2^63, which is an integer that fits.
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
  CHECK_THROWS_WITH_AS(parse_json(R"({"valid_lens": [1, )" + digits + "]}"),
                       ("the number " + digits + " is beyond the range of a double\n" +
                        "  where: /valid_lens/1\n"
                        "  help:  infinities are written \"inf\" and \"-inf\"")
                           .c_str(),
                       Error);
  CHECK(parse_json("[1" + std::string(308, '0') + "]").element(0).number() == 1e308);
}

TEST_CASE("a value read as what it is not is a bug, not an error of the user's") {
  const JsonValue text = parse_json("\"x\"");
  CHECK_THROWS_WITH_AS(text.number(), "a string in JSON was read as a number", Error);
  CHECK_THROWS_WITH_AS(text.integer(), "a string in JSON was read as an integer", Error);
  CHECK_THROWS_WITH_AS(text.boolean(), "a string in JSON was read as a boolean", Error);
  CHECK_THROWS_WITH_AS(text.size(), "a string in JSON was read as an array", Error);
  CHECK_THROWS_WITH_AS(text.element(0), "a string in JSON was read as an array", Error);
  CHECK_THROWS_WITH_AS(text.members(), "a string in JSON was read as an object", Error);
  CHECK_THROWS_WITH_AS(parse_json("[1]").string(), "an array in JSON was read as a string", Error);
  try {
    text.number();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::internal);
  }
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
