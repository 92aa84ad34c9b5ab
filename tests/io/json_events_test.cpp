#include "io/json_events.hpp"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"

namespace attn {
namespace {

// Reads all of an object of tokens and numbers.
std::string members_of(std::string_view text) {
  JsonEvents events(text);
  std::string result;
  if (events.peek() != JsonValue::Type::object) return "no object";
  events.enter();
  std::string_view key;
  while (events.next_member(key)) {
    result += std::string(key) + "=";
    std::uint32_t number = 0;
    result += events.small_integer(number) ? std::to_string(number)
                                           : std::string(type_text(events.value()));
    result += ';';
  }
  events.expect_end();
  return result;
}

}  // namespace

TEST_CASE("events of JSON come in the order of the text, whatever the white space") {
  CHECK(members_of(R"({})").empty());
  CHECK(members_of(" {\"a\" : 1 ,\n\t\"b\":4294967295}\r\n") == "a=1;b=4294967295;");
  CHECK(members_of("\xEF\xBB\xBF{\"a\":0}") == "a=0;");
  // Numbers that are no small integers, and all other values.
  CHECK(members_of(
            R"({"a":-1,"b":1.5,"c":1e3,"d":4294967296,"e":[1,{"x":"]"}],"f":"\"}","g":null})") ==
        "a=a number;b=a number;c=a number;d=a number;e=an array;f=a string;g=null;");
}

TEST_CASE("escapes in strings become what they stand for") {
  JsonEvents events(R"(["\"\\\/\b\f\n\r\t","\u00e9\u4E2D\ud83d\ude00","é中😀",""])");
  events.enter();
  for (const std::string_view wanted : {"\"\\/\b\f\n\r\t", "é中😀", "é中😀", ""}) {
    REQUIRE(events.next_element());
    CHECK(events.string() == wanted);
  }
  CHECK_FALSE(events.next_element());
}

TEST_CASE("numbers come as they are written") {
  JsonEvents events("[-1.50e+02, 0, 12]");
  events.enter();
  for (const std::string_view wanted : {"-1.50e+02", "0", "12"}) {
    REQUIRE(events.next_element());
    CHECK(events.number() == wanted);
  }
}

TEST_CASE("what is no JSON ends with the parser's own message, line and column") {
  CHECK(error_from([] { members_of("{\"a\":1,\n \"b\" 2}"); }).find("where: line 2, column") !=
        std::string::npos);
  for (const char* text :
       {"{\"a\":1", "{\"a\":1,}", "{,}", "{\"a\":01}", "{\"a\":1} x", "{\"a\\x\":1}",
        "{\"\\ud800\":1}", "{\"\\udc00x\":1}", "{\"a\x01\":1}", "{\"a\xFF\":1}", "{\"a\":tru}",
        "{\"a\":[1,2}", "{\"a\":\"", "{\"a\":1 \"b\":2}", "{'a':1}", "{\"a\":1}}", "", "{\"a\":-}",
        "{\"a\":{\"b\":1,\"b\":2}}"}) {
    CAPTURE(text);
    CHECK(error_from([&] { members_of(text); }) != "no error");
  }
  JsonEvents numbers("[1.]");
  numbers.enter();
  CHECK(numbers.next_element());
  CHECK(error_from([&] { numbers.number(); }).find("line 1, column") != std::string::npos);
}

TEST_CASE("numbers that JSON does not have are errors") {
  for (const char* const text : {"[1.]", "[.5]", "[01]", "[-01]", "[-]", "[+1]", "[1e]", "[1E+]",
                                 "[1.5e-]", "[1x]", "[1.5.5]", "[nan]", "[", "[1", "[12e"}) {
    CAPTURE(text);
    JsonEvents events(text);
    events.enter();
    const std::string error = error_from([&] {
      if (events.next_element()) events.number();
      if (!events.next_element()) events.expect_end();
    });
    CHECK(error.starts_with("not valid JSON: "));
    CHECK(error.find("\n  where: line 1, column ") != std::string::npos);
  }
  JsonEvents sound("[0.5,-0,1e5,1E-5,0E+1]");
  sound.enter();
  for (const std::string_view wanted : {"0.5", "-0", "1e5", "1E-5", "0E+1"}) {
    REQUIRE(sound.next_element());
    CHECK(sound.number() == wanted);
  }
  CHECK_FALSE(sound.next_element());
  CHECK(members_of(R"({"a":1E3,"b":0})") == "a=a number;b=0;");
}

TEST_CASE("escapes that JSON does not have are errors") {
  for (const char* const escape :
       {"\\u12", "\\u12G4", "\\u 123", "\\ud83d", "\\ud83dx", "\\ud83d\\n", "\\ud83d\\u0041",
        "\\ud83d\\ue000", "\\ud83d\\ude", "\\ude00", "\\x41", "\\U0041", "\\'"}) {
    CAPTURE(escape);
    const std::string text = "[\"" + std::string(escape) + "\"]";
    JsonEvents events(text);
    events.enter();
    REQUIRE(events.next_element());
    const std::string error = error_from([&] { events.string(); });
    CHECK(error.starts_with("not valid JSON: "));
    CHECK(error.find("\n  where: line 1, column ") != std::string::npos);
  }
}

}  // namespace attn
