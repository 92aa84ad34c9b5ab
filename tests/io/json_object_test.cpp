#include "io/json_object.hpp"

#include <stdexcept>

#include <doctest/doctest.h>

#include "attn/error.hpp"

namespace attn {
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
  CHECK(object.optional_number("width") == 2.5);
  CHECK(object.optional_string("name") == "a");
  CHECK_FALSE(object.optional_number("depth"));
  CHECK_FALSE(object.optional_boolean("off"));
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
}  // namespace attn
